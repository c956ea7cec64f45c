package otherplugins

// What the tests of package otherplugins_test see of this package.

var Of = of

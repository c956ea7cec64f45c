package repeat

// What the tests of package repeat_test see of this package.

type Ref = classRef

package offsets

// What the tests of package offsets_test see of this package.

type Kind = kind

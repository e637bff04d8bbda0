"""SimGCD on frozen tokens."""

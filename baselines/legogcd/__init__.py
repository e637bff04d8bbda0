"""SimGCD with the regularisers of LegoGCD."""

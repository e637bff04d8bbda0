"""Networks trained for category discovery: modules on tokens, a SimGCD-style host, its losses."""

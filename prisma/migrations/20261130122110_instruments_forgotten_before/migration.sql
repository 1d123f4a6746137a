-- Outside of a transaction, in pieces, beside writers (scripts/lib/migration-in-pieces.mjs).
CALL forget_instruments();

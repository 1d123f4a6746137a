-- When the large tables are vacuumed and analysed (docs/performance.md, "PostgreSQL under a nation's load"; `npm run bench -- vacuum`).

-- Two of three versions of a receipt die, one of two of an attempt or a delivery. Vacuum walks through all their indexes, so it comes by
-- share; statistics are cheap and come often. What a vacuum has seen it freezes at once: nothing of it changes any more, and the vacuum
-- against wraparound finds hardly anything left to do.
ALTER TABLE receipts SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000,
                          autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0);
ALTER TABLE attempts SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000,
                          autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0);
ALTER TABLE webhook_deliveries SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000,
                                    autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0);

-- Rows that are only added: vacuum has no index to walk through, it freezes what is new.
ALTER TABLE events SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000,
                        autovacuum_analyze_scale_factor = 0.05, autovacuum_freeze_min_age = 0);
ALTER TABLE webhook_attempts SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000,
                                  autovacuum_freeze_min_age = 0);

-- What the programs may do (role :app_role), set anew after every migration. The owner migrates, the programs never do.
GRANT USAGE ON SCHEMA public, bullmq TO :app_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public, bullmq TO :app_role;
GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public, bullmq TO :app_role;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public, bullmq TO :app_role;

-- The histories of migrations are the owner's.
REVOKE INSERT, UPDATE, DELETE ON _prisma_migrations, bullmq.migration FROM :app_role;

-- The audit trail only grows.
REVOKE UPDATE, DELETE, TRUNCATE ON audit_records FROM :app_role;

-- Tenants, workflows, runs, and the work that waits. A row belongs to a tenant,
-- and tenant_id leads its keys. Only what is asked across tenants, the moments
-- at which something falls due, is indexed by the moment.

-- +goose Up
CREATE TABLE verifyd.tenants (
    tenant_id               uuid PRIMARY KEY,
    name                    text NOT NULL,
    redirect_allowlist      text[] NOT NULL,
    webhook_secret          text NOT NULL,
    previous_webhook_secret text NOT NULL,
    colour                  text NOT NULL
);

-- A client identifier is unique over all tenants: it is what a tenant is found by.
CREATE TABLE verifyd.accounts (
    client_id text COLLATE "C" PRIMARY KEY,
    tenant_id uuid NOT NULL,
    key_hash  bytea NOT NULL,
    disabled  boolean NOT NULL,
    surfaces  text[] NOT NULL
);
CREATE INDEX accounts_of_tenant ON verifyd.accounts (tenant_id, client_id);

CREATE TABLE verifyd.workflows (
    tenant_id               uuid NOT NULL,
    id                      uuid NOT NULL,
    slug                    text NOT NULL,
    name                    text NOT NULL,
    description             text NOT NULL,
    run_ttl_seconds         bigint NOT NULL,
    abandon_timeout_seconds bigint NOT NULL,
    published               text NOT NULL,
    latest                  text NOT NULL,
    versions                integer NOT NULL,
    lifecycle_webhook_url   text NOT NULL,
    created_at              timestamptz NOT NULL,
    revision                integer NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX workflows_newest ON verifyd.workflows (tenant_id, created_at DESC, id DESC);

CREATE TABLE verifyd.workflow_versions (
    tenant_id   uuid NOT NULL,
    workflow_id uuid NOT NULL,
    hash        text COLLATE "C" NOT NULL,
    number      integer NOT NULL,
    definition  text NOT NULL, -- JSON, byte for byte
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, workflow_id, hash)
);

-- The truth about runs: what one append added to a history, a row.
CREATE TABLE verifyd.run_events (
    tenant_id uuid NOT NULL,
    run_id    uuid NOT NULL,
    seq       integer NOT NULL, -- events before these
    upto      integer NOT NULL, -- events up to the last of these
    events    text NOT NULL,    -- a JSON array, byte for byte
    PRIMARY KEY (tenant_id, run_id, seq)
);

-- What lists need of a run: its summary, and how it is filed. It reads as
-- status and decision say strictly after filed_since and until filed_until;
-- null is for ever.
CREATE TABLE verifyd.runs (
    tenant_id    uuid NOT NULL,
    id           uuid NOT NULL,
    workflow_id  uuid NOT NULL,
    reference_id text NOT NULL,
    started_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    abandon_at   timestamptz,
    waiting      text NOT NULL,
    signal       text NOT NULL,
    wait         integer NOT NULL,
    ended        text NOT NULL,
    completed_at timestamptz,
    error        text NOT NULL, -- JSON; empty for none
    verdict      text NOT NULL,
    open         boolean NOT NULL,
    status       text COLLATE "C" NOT NULL,
    decision     text COLLATE "C" NOT NULL,
    filed_since  timestamptz,
    filed_until  timestamptz,
    PRIMARY KEY (tenant_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05); -- deep lists skip in the indexes alone
-- A list that leaves out the status merges those of each status.
CREATE INDEX runs_by_status ON verifyd.runs (tenant_id, status, started_at DESC, id DESC);
CREATE INDEX runs_by_workflow ON verifyd.runs (tenant_id, workflow_id, status, started_at DESC, id DESC);
CREATE INDEX runs_by_decision ON verifyd.runs (tenant_id, decision, status, started_at DESC, id DESC) WHERE decision <> '';
CREATE INDEX runs_by_all ON verifyd.runs (tenant_id, workflow_id, decision, status, started_at DESC, id DESC) WHERE decision <> '';
CREATE INDEX runs_turning ON verifyd.runs (tenant_id, filed_until) WHERE filed_until IS NOT NULL;
CREATE INDEX runs_turned ON verifyd.runs (tenant_id, filed_since) WHERE filed_since IS NOT NULL;
CREATE INDEX runs_expiring ON verifyd.runs (expires_at) WHERE ended = '' AND expires_at IS NOT NULL;

-- How many runs are filed under a workflow, status and decision: the sum over
-- the slots. Every connection counts in a slot of its own, so that writers
-- never wait for each other; slot 0 takes over what the others have counted.
CREATE TABLE verifyd.run_counts (
    tenant_id   uuid NOT NULL,
    workflow_id uuid NOT NULL,
    status      text COLLATE "C" NOT NULL,
    decision    text COLLATE "C" NOT NULL,
    slot        integer NOT NULL,
    runs        bigint NOT NULL,
    PRIMARY KEY (tenant_id, workflow_id, status, decision, slot)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- +goose StatementBegin
CREATE FUNCTION verifyd.count_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO verifyd.run_counts AS c
        SELECT tenant_id, workflow_id, status, decision, pg_backend_pid(), count(*)
        FROM added GROUP BY tenant_id, workflow_id, status, decision
        ON CONFLICT (tenant_id, workflow_id, status, decision, slot) DO UPDATE SET runs = c.runs + excluded.runs;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO verifyd.run_counts AS c
        SELECT tenant_id, workflow_id, status, decision, pg_backend_pid(), -count(*)
        FROM removed GROUP BY tenant_id, workflow_id, status, decision
        ON CONFLICT (tenant_id, workflow_id, status, decision, slot) DO UPDATE SET runs = c.runs + excluded.runs;
    ELSE
        INSERT INTO verifyd.run_counts AS c
        SELECT tenant_id, workflow_id, status, decision, pg_backend_pid(), sum(n)
        FROM (SELECT tenant_id, workflow_id, status, decision, 1 AS n FROM added
              UNION ALL
              SELECT tenant_id, workflow_id, status, decision, -1 FROM removed) AS moves
        GROUP BY tenant_id, workflow_id, status, decision HAVING sum(n) <> 0
        ON CONFLICT (tenant_id, workflow_id, status, decision, slot) DO UPDATE SET runs = c.runs + excluded.runs;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER runs_added AFTER INSERT ON verifyd.runs
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION verifyd.count_runs();
CREATE TRIGGER runs_changed AFTER UPDATE ON verifyd.runs
    REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION verifyd.count_runs();
CREATE TRIGGER runs_removed AFTER DELETE ON verifyd.runs
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION verifyd.count_runs();

-- What is to be done, one piece of a kind for a run. A leased piece is due at
-- the end of its lease.
CREATE TABLE verifyd.work (
    tenant_id uuid NOT NULL,
    run_id    uuid NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    due       timestamptz NOT NULL,
    workflow_id uuid NOT NULL,
    attempt   integer NOT NULL DEFAULT 0,
    leased    boolean NOT NULL DEFAULT false, -- due is the end of a lease
    lease_id  uuid,                           -- of a taker; null for an append's lease
    lost_leases integer NOT NULL DEFAULT 0,   -- that ended since the last append
    PRIMARY KEY (tenant_id, run_id, kind)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX work_due ON verifyd.work (kind, due);
CREATE INDEX work_of_tenant ON verifyd.work (kind, tenant_id, due); -- by which tenants take turns
CREATE INDEX work_losing ON verifyd.work (lost_leases) WHERE lost_leases >= 2;

-- Which request an idempotency key stands for, and what a signal was answered.
CREATE TABLE verifyd.idempotency_keys (
    tenant_id   uuid NOT NULL,
    scope       text COLLATE "C" NOT NULL, -- start or signal
    key         text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    id          uuid NOT NULL, -- of the request; of a start, that of its run
    claimed_at  timestamptz NOT NULL,
    settled     boolean NOT NULL,
    result      text NOT NULL,
    decision    text NOT NULL,
    PRIMARY KEY (tenant_id, scope, key)
);
CREATE INDEX idempotency_keys_oldest ON verifyd.idempotency_keys (claimed_at);

CREATE TABLE verifyd.deliveries (
    tenant_id uuid NOT NULL,
    run_id    uuid NOT NULL,
    url       text NOT NULL,
    state     text COLLATE "C" NOT NULL,
    attempts  integer NOT NULL,
    first_at  timestamptz,
    last_at   timestamptz NOT NULL,
    next_at   timestamptz,
    class     text NOT NULL,
    PRIMARY KEY (tenant_id, run_id)
);
CREATE INDEX deliveries_newest ON verifyd.deliveries (tenant_id, last_at DESC, run_id DESC);
CREATE INDEX deliveries_by_state ON verifyd.deliveries (tenant_id, state, last_at DESC, run_id DESC);

-- What the hosts share: the keys that sign links and tokens. It belongs to no
-- tenant.
CREATE TABLE verifyd.fleet (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

-- The processes that are alive: each renews its row, and removes it at its stop.
-- They belong to no tenant.
CREATE TABLE verifyd.hosts (
    id         uuid PRIMARY KEY,
    name       text NOT NULL,
    roles      text[] NOT NULL,
    version    text NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The second wall between tenants: a statement sees the tenants that its
-- transaction has named, a list with commas, or 'all'; without a name, none.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['tenants', 'accounts', 'workflows', 'workflow_versions', 'run_events', 'runs',
        'run_counts', 'work', 'idempotency_keys', 'deliveries'] LOOP
        EXECUTE format('ALTER TABLE verifyd.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
        -- The first line is evaluated once for a statement and holds for nearly
        -- all; the others cost far more for each row.
        EXECUTE format($policy$
            CREATE POLICY tenant ON verifyd.%I USING (
                tenant_id = (SELECT substring(current_setting('verifyd.tenant', true)
                    FROM '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid)
                OR strpos(current_setting('verifyd.tenant', true), tenant_id::text) > 0
                OR current_setting('verifyd.tenant', true) = 'all')
        $policy$, name);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE verifyd.hosts, verifyd.fleet, verifyd.deliveries, verifyd.idempotency_keys, verifyd.work, verifyd.run_counts, verifyd.runs,
    verifyd.run_events, verifyd.workflow_versions, verifyd.workflows, verifyd.accounts, verifyd.tenants;
DROP FUNCTION verifyd.count_runs();

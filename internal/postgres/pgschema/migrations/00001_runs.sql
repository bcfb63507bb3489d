-- All tables but those of River. Every row belongs to a tenant, except those of hosts,
-- applied_files, shared_values, erasure_ledger and rescreen_passes. An index begins with tenant_id, unless it is of client ids or
-- of what a host does for all tenants, such as taking work.

-- +goose Up
CREATE TABLE verifyd.tenants (
    tenant_id               uuid PRIMARY KEY,
    name                    text NOT NULL,
    zone                    text NOT NULL,
    redirect_allowlist      text[] NOT NULL,
    webhook_secret          text NOT NULL,
    previous_webhook_secret text NOT NULL,
    colour                  text NOT NULL,
    logo                    text NOT NULL,
    logo_content            bytea NOT NULL DEFAULT '',
    privacy_url             text NOT NULL,
    help_url                text NOT NULL,
    legal_url               text NOT NULL,
    phone                   text NOT NULL,
    retention               jsonb NOT NULL DEFAULT '{}'
);

-- A client identifier is unique across tenants: it determines the tenant.
CREATE TABLE verifyd.accounts (
    client_id         text COLLATE "C" PRIMARY KEY,
    tenant_id         uuid NOT NULL,
    key_hash          bytea NOT NULL,
    previous_key_hash bytea NOT NULL DEFAULT '', -- empty for none
    previous_until    timestamptz,               -- null for no end
    disabled          boolean NOT NULL,
    surfaces          text[] NOT NULL,
    from_file         boolean NOT NULL DEFAULT false
);
CREATE INDEX accounts_by_tenant ON verifyd.accounts (tenant_id, client_id);

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
    webhook_from_file       boolean NOT NULL DEFAULT false,
    retired                 boolean NOT NULL DEFAULT false,
    retention               jsonb NOT NULL DEFAULT '{}',
    created_at              timestamptz NOT NULL,
    revision                integer NOT NULL
);
CREATE INDEX workflows_newest ON verifyd.workflows (tenant_id, created_at DESC, id DESC);
-- If two indexes cost the same, the planner takes the one that was created last. In a new
-- table all of them cost the same, and the plan of an append is made then. So the primary
-- key comes last here, in runs. pg_dump does not keep that order: do not
-- restore the schema of a dump without its rows.
ALTER TABLE verifyd.workflows ADD PRIMARY KEY (tenant_id, id);

CREATE TABLE verifyd.workflow_versions (
    tenant_id   uuid NOT NULL,
    workflow_id uuid NOT NULL,
    hash        text COLLATE "C" NOT NULL,
    number      integer NOT NULL,
    definition  text NOT NULL, -- JSON, byte for byte
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, workflow_id, hash)
);

-- The histories of runs: one row for each append. Of a deleted run the events are empty and next_seq is -1 until
-- maintenance removes its rows, see deleted_runs.
CREATE TABLE verifyd.run_events (
    tenant_id uuid NOT NULL,
    run_id    uuid NOT NULL,
    seq       integer NOT NULL, -- number of earlier events
    next_seq  integer NOT NULL, -- seq of the next row
    events    text NOT NULL,    -- JSON array of {at?, KIND: FACT}, byte for byte: see verification.EncodeEvents
    PRIMARY KEY (tenant_id, run_id, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02); -- vacuumed often, so that new runs take the place of deleted ones

-- The summaries of runs. A run has the status and the decision of its row at
-- times after status_from and until status_until, which is included; null is no bound. A row is stale
-- when the current time is outside of that interval.
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
    outcome      text NOT NULL DEFAULT '',
    end_data     text NOT NULL DEFAULT '', -- JSON: what the end node computed; empty for nothing
    error        text NOT NULL, -- JSON; empty for none
    verdict      text NOT NULL,
    flagged      boolean NOT NULL,
    status       text COLLATE "C" NOT NULL,
    decision     text COLLATE "C" NOT NULL,
    status_from  timestamptz,
    status_until timestamptz,
    redacted_at  timestamptz, -- when personal data was last removed; null for never
    restricted_at timestamptz, -- since when it is restricted; null if it is not
    -- The review of a run that needs a verdict; without one, review_since is null and the others
    -- are null or empty.
    review_since timestamptz,
    review_due   timestamptz, -- infinity for none
    review_until timestamptz, -- the run needs no verdict after it; null for never
    causes       text[] NOT NULL DEFAULT '{}',
    review       text NOT NULL DEFAULT '', -- JSON: what the queue shows and does not filter by
    assignee     text COLLATE "C" NOT NULL DEFAULT '' -- the key of a person or team; empty for nobody
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05); -- vacuumed often, also for the index-only scans of large offsets
-- A list without a filter of the status merges the lists of each status. The indexes are in
-- ascending order and read backwards: new runs then split the last page, and leave it
-- full.
CREATE INDEX runs_by_status ON verifyd.runs (tenant_id, status, started_at, id);
CREATE INDEX runs_by_workflow ON verifyd.runs (tenant_id, workflow_id, status, started_at, id);
CREATE INDEX runs_by_decision ON verifyd.runs (tenant_id, decision, status, started_at, id) WHERE decision <> '';
CREATE INDEX runs_by_workflow_decision ON verifyd.runs (tenant_id, workflow_id, decision, status, started_at, id) WHERE decision <> '';
-- If all runs have the same reference_id, the index is smaller than the primary key. The
-- condition keeps the planner from using it in place of the primary key.
CREATE INDEX runs_by_reference ON verifyd.runs (tenant_id, reference_id COLLATE "C") WHERE reference_id COLLATE "C" <> '';
-- Who of a person's or company's runs was rejected: it is looked up whenever a run comes to need a verdict.
CREATE INDEX runs_rejected ON verifyd.runs (tenant_id, reference_id COLLATE "C", started_at, id) WHERE verdict = 'reject';
CREATE INDEX runs_status_until ON verifyd.runs (tenant_id, status_until) WHERE status_until IS NOT NULL;
CREATE INDEX runs_status_from ON verifyd.runs (tenant_id, status_from) WHERE status_from IS NOT NULL;
-- The review queue, in its two orders. The first also counts it, whatever the filter.
CREATE INDEX runs_in_review ON verifyd.runs (tenant_id, review_since, id)
    INCLUDE (workflow_id, review_due, review_until, causes, assignee) WHERE review_since IS NOT NULL;
CREATE INDEX runs_review_due ON verifyd.runs (tenant_id, review_due, review_since, id) WHERE review_since IS NOT NULL;
ALTER TABLE verifyd.runs ADD PRIMARY KEY (tenant_id, id);

-- The number of rows of runs by workflow, status and decision: the sum over days and
-- slots. Each connection counts in the slot of its process id, so that writers do not
-- block each other. Maintenance removes the slots of closed connections and adds their numbers to
-- slot 0, which has one row for all days, and to run_months.
CREATE TABLE verifyd.run_counts (
    tenant_id   uuid NOT NULL,
    workflow_id uuid NOT NULL,
    status      text COLLATE "C" NOT NULL,
    decision    text COLLATE "C" NOT NULL,
    day         date NOT NULL, -- of started_at in UTC; -infinity in slot 0
    slot        integer NOT NULL,
    runs        bigint NOT NULL,
    PRIMARY KEY (tenant_id, workflow_id, status, decision, day, slot)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The numbers of slot 0 of run_counts by month: runs[n] is the number of runs that started
-- on the first n days of the month.
CREATE TABLE verifyd.run_months (
    tenant_id   uuid NOT NULL,
    workflow_id uuid NOT NULL,
    status      text COLLATE "C" NOT NULL,
    decision    text COLLATE "C" NOT NULL,
    month       date NOT NULL, -- its first day
    runs        bigint[] NOT NULL,
    PRIMARY KEY (tenant_id, workflow_id, status, decision, month)
) WITH (fillfactor = 50);

-- +goose StatementBegin
CREATE FUNCTION verifyd.count_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO verifyd.run_counts AS c
        SELECT tenant_id, workflow_id, status, decision, (started_at AT TIME ZONE 'UTC')::date, pg_backend_pid(), count(*)
        FROM added GROUP BY 1, 2, 3, 4, 5
        ON CONFLICT (tenant_id, workflow_id, status, decision, day, slot) DO UPDATE SET runs = c.runs + excluded.runs;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO verifyd.run_counts AS c
        SELECT tenant_id, workflow_id, status, decision, (started_at AT TIME ZONE 'UTC')::date, pg_backend_pid(), -count(*)
        FROM removed GROUP BY 1, 2, 3, 4, 5
        ON CONFLICT (tenant_id, workflow_id, status, decision, day, slot) DO UPDATE SET runs = c.runs + excluded.runs;
    ELSE
        INSERT INTO verifyd.run_counts AS c
        SELECT tenant_id, workflow_id, status, decision, (started_at AT TIME ZONE 'UTC')::date, pg_backend_pid(), sum(n)
        FROM (SELECT tenant_id, workflow_id, status, decision, started_at, 1 AS n FROM added
              UNION ALL
              SELECT tenant_id, workflow_id, status, decision, started_at, -1 FROM removed) AS moves
        GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0
        ON CONFLICT (tenant_id, workflow_id, status, decision, day, slot) DO UPDATE SET runs = c.runs + excluded.runs;
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

-- Who works on the runs in the review queue. A claim is of the review that began at since.
CREATE TABLE verifyd.claims (
    tenant_id  uuid NOT NULL,
    run_id     uuid NOT NULL,
    since      timestamptz NOT NULL,
    claimed_by text COLLATE "C" NOT NULL,
    name       text NOT NULL,
    claimed_at timestamptz NOT NULL,
    until      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, run_id)
);

-- Measures that are not added up yet: a group of appends inserts a row for each tenant, and
-- maintenance, or a query of the measures of the tenant, adds the rows to measures and deletes them.
CREATE TABLE verifyd.measure_log (
    tenant_id uuid NOT NULL,
    measures  text NOT NULL, -- JSON, see measures.go
    broken    boolean NOT NULL DEFAULT false, -- it could not be added up, and is left here
    logged_at timestamptz NOT NULL DEFAULT now(),
    -- Not from a sequence: a replica that becomes the primary would begin it anew.
    id        uuid PRIMARY KEY DEFAULT gen_random_uuid()
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- The sums of measures by the days of the tenants.
CREATE TABLE verifyd.measures (
    tenant_id   uuid NOT NULL,
    workflow_id uuid NOT NULL,    -- the nil UUID for the sum of all workflows
    name        text COLLATE "C" NOT NULL,
    day         integer NOT NULL, -- since 1 January 1970
    key         text COLLATE "C" NOT NULL,
    version     integer NOT NULL, -- of the workflow; 0 for all
    count       bigint NOT NULL,
    -- md5(key)::uuid: a key may contain a condition, which is too long for an index. It is not GENERATED, because
    -- such a column cannot be in the key of a table that is published.
    key_hash    uuid NOT NULL,
    PRIMARY KEY (tenant_id, workflow_id, name, day, key_hash, version)
) WITH (fillfactor = 70);
-- For the removal of old measures: as an expression, so that no other query uses it.
CREATE INDEX measures_by_day ON verifyd.measures ((day + 0));

-- The completed runs that are screened again when a list changes, and the version of the
-- list that each was screened against when it was completed; empty for none.
CREATE TABLE verifyd.screened_runs (
    tenant_id uuid NOT NULL,
    run_id    uuid NOT NULL,
    list      text COLLATE "C" NOT NULL,
    version   text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, list)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

-- The search keys of runs: keyed hashes of the words by which they are found, of 16 bytes each.
CREATE TABLE verifyd.search_keys (
    tenant_id  uuid NOT NULL,
    run_id     uuid NOT NULL,
    key        uuid NOT NULL,        -- any 16 bytes
    started_at timestamptz NOT NULL, -- of the run
    PRIMARY KEY (tenant_id, run_id, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX search_keys_newest ON verifyd.search_keys (tenant_id, key, started_at, run_id);

-- The runs that were deleted and whose rows in run_events, which have no events and a next_seq of -1, are not
-- removed yet: see deletes.go.
CREATE TABLE verifyd.deleted_runs (
    tenant_id uuid NOT NULL,
    run_id    uuid NOT NULL,
    PRIMARY KEY (tenant_id, run_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- How far retention has come with the runs of each workflow.
CREATE TABLE verifyd.retention_marks (
    tenant_id   uuid NOT NULL,
    workflow_id uuid NOT NULL,
    mark        text NOT NULL, -- JSON, see retention.go
    PRIMARY KEY (tenant_id, workflow_id)
) WITH (fillfactor = 50);

-- The last pass over each list, of all tenants.
CREATE TABLE verifyd.rescreen_passes (
    list       text COLLATE "C" PRIMARY KEY,
    version    text NOT NULL,
    holder     text NOT NULL,
    held_until timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz,
    runs       bigint NOT NULL DEFAULT 0,
    queued     boolean NOT NULL DEFAULT false -- the work of the pass is in the queue
) WITH (fillfactor = 50);

-- The work queue: at most one piece of each kind for a run, and one for each of its notices.
CREATE TABLE verifyd.work (
    tenant_id   uuid NOT NULL,
    run_id      uuid NOT NULL,
    kind        text COLLATE "C" NOT NULL, -- advance, announce, expire, or rescreen: and a list
    due_at      timestamptz NOT NULL,      -- if leased, the end of the lease
    workflow_id uuid NOT NULL,
    attempt     integer NOT NULL DEFAULT 0,
    leased      boolean NOT NULL DEFAULT false,
    lease_id    uuid,                       -- null unless the lease was taken from the queue
    lost_leases integer NOT NULL DEFAULT 0, -- in a row; an append or a postponement sets it to 0
    alone       integer NOT NULL DEFAULT 0, -- trials; an append, or another renewal, sets it to 0
    left_at     timestamptz,                -- when a host left the run to others; an append sets it to null
    seq         integer NOT NULL DEFAULT 0, -- of a notice of an event; 0 for the end and for other work
    PRIMARY KEY (tenant_id, run_id, kind, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX work_due_at ON verifyd.work (kind, due_at);
CREATE INDEX work_by_tenant ON verifyd.work (kind, tenant_id, due_at);
CREATE INDEX work_lost_leases ON verifyd.work (lost_leases) WHERE lost_leases >= 2;

-- The requests of idempotency keys, and the results of signals.
CREATE TABLE verifyd.idempotency_keys (
    tenant_id   uuid NOT NULL,
    scope       text COLLATE "C" NOT NULL, -- start, signal or sign_in
    key         text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    id          uuid NOT NULL, -- of the request; of a start, the run id
    claimed_at  timestamptz NOT NULL,
    settled     boolean NOT NULL,
    result      text NOT NULL,
    decision    text NOT NULL,
    PRIMARY KEY (tenant_id, scope, key)
);
CREATE INDEX idempotency_keys_claimed_at ON verifyd.idempotency_keys (claimed_at);

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
    seq       integer NOT NULL, -- of the notice; 0 for the end
    event     text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX deliveries_newest ON verifyd.deliveries (tenant_id, last_at DESC, run_id DESC, seq DESC);
CREATE INDEX deliveries_by_state ON verifyd.deliveries (tenant_id, state, last_at DESC, run_id DESC, seq DESC);

-- The audit trail. The id begins with the time, so that it orders the entries of a tenant.
CREATE TABLE verifyd.audit_entries (
    tenant_id  uuid NOT NULL,
    id         text COLLATE "C" NOT NULL,
    at         timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id   text COLLATE "C" NOT NULL,
    actor_name text NOT NULL,
    actor_role text NOT NULL, -- empty for nobody in the console
    action     text COLLATE "C" NOT NULL,
    run_id     text COLLATE "C" NOT NULL, -- empty for none
    document   text NOT NULL,
    subject    text NOT NULL,
    detail     text NOT NULL,
    count      bigint NOT NULL, -- 0 for an entry of a single time
    last_at    timestamptz, -- of a count, the last time
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX audit_entries_by_actor ON verifyd.audit_entries (tenant_id, actor_id, id);
CREATE INDEX audit_entries_by_action ON verifyd.audit_entries (tenant_id, action, id);
CREATE INDEX audit_entries_of_changes ON verifyd.audit_entries (tenant_id, id)
    WHERE action NOT IN ('run.read', 'report.read', 'report.printed', 'document.read', 'person.searched', 'reads.lost');
CREATE INDEX audit_entries_by_run ON verifyd.audit_entries (tenant_id, run_id, id) WHERE run_id <> '';

-- How far the store and the ledger of erasures have come with each other: one row, none before a host with a ledger.
CREATE TABLE verifyd.erasure_ledger (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    id      text NOT NULL,
    last    bigint NOT NULL, -- the highest number of an entry
    applied bigint NOT NULL  -- up to which number the store has what the ledger says
) WITH (fillfactor = 50);

-- The entries that the ledger of erasures does not have yet. They outlive their runs.
CREATE TABLE verifyd.owed_erasures (
    tenant_id uuid NOT NULL,
    number    bigint NOT NULL,
    entry     text NOT NULL, -- JSON, see verification.Erasure
    PRIMARY KEY (tenant_id, number)
);

-- Values that all hosts share, such as signing keys.
CREATE TABLE verifyd.shared_values (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

-- The running hosts: each updates its row, and deletes it when it stops.
CREATE TABLE verifyd.hosts (
    id         uuid PRIMARY KEY,
    name       text NOT NULL,
    roles      text[] NOT NULL,
    version    text NOT NULL,
    address    text NOT NULL,
    facts      text NOT NULL, -- JSON: what the host says about itself
    bootstrap  text NOT NULL, -- the hash of its file in applied_files; empty for none
    level      integer NOT NULL, -- up to which its build reads the database
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The bootstrap files that were applied. The one that was applied last is the newest.
CREATE TABLE verifyd.applied_files (
    hash       text COLLATE "C" PRIMARY KEY,
    applied_at timestamptz NOT NULL,
    names      text NOT NULL -- JSON: what the file lists
);

-- Row-level security: a transaction sees the rows of the tenants in the setting
-- verifyd.tenant, a comma-separated list, or 'all'. Without the setting it sees none.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['tenants', 'accounts', 'workflows', 'workflow_versions', 'run_events', 'runs',
        'run_counts', 'run_months', 'claims', 'measure_log', 'measures', 'screened_runs', 'search_keys', 'work', 'idempotency_keys', 'deliveries',
        'deleted_runs', 'retention_marks', 'audit_entries', 'owed_erasures'] LOOP
        EXECUTE format('ALTER TABLE verifyd.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
        -- The subquery is evaluated once in a statement, at the first row. It returns null
        -- for 'all', so that every row is visible, and no ids without the setting. A value
        -- that is neither 'all' nor a list of ids is an error. A second subquery, for 'all',
        -- would cost much more: PostgreSQL plans each for every table of a statement.
        EXECUTE format($policy$
            CREATE POLICY tenant ON verifyd.%I USING ((tenant_id = ANY (
                (SELECT string_to_array(nullif(coalesce(current_setting('verifyd.tenant', true), ''), 'all'), ',')::uuid[])::uuid[]
            )) IS NOT FALSE)
        $policy$, name);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE verifyd.applied_files, verifyd.hosts, verifyd.shared_values, verifyd.owed_erasures, verifyd.erasure_ledger, verifyd.audit_entries, verifyd.deliveries, verifyd.idempotency_keys, verifyd.work, verifyd.rescreen_passes,
    verifyd.retention_marks, verifyd.deleted_runs, verifyd.search_keys, verifyd.screened_runs, verifyd.measures,
    verifyd.measure_log, verifyd.claims, verifyd.run_months, verifyd.run_counts, verifyd.runs,
    verifyd.run_events, verifyd.workflow_versions, verifyd.workflows, verifyd.accounts, verifyd.tenants;
DROP FUNCTION verifyd.count_runs();

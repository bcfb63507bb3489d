-- The next release of the tests: when a run was greeted.

-- +goose Up
ALTER TABLE verifyd.runs ADD COLUMN greeted_at timestamptz;

-- +goose Down
ALTER TABLE verifyd.runs DROP COLUMN greeted_at;

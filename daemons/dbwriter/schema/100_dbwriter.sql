-- The writer's own tables: its positions, and rejected lines.
-- Source: DB-12, DB-13.

CREATE TABLE sge_checkpoint (
    ch_source text PRIMARY KEY,
    ch_file text,
    ch_offset bigint,
    ch_line bigint,
    ch_time timestamp with time zone
);

CREATE TABLE sge_rejected_line (
    rl_source text,
    rl_line bigint,
    rl_reason text,
    rl_text text
);

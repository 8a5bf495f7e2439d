"""PostgreSQL databases behind websites: the columns, keys, and indexes of two more programs, with rows made up."""

from __future__ import annotations

from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.layouts.layout import Script

NOW: Final = "timestamptz '2026-03-31 06:00:00+00'"

# --- Supabase Auth -----------------------------------------------------------------------------------------------

_NO_INSTANCE: Final = "'00000000-0000-0000-0000-000000000000'::uuid"


def _supabase() -> Script:
    """4,000 users of an app that refreshes their tokens 40,000 times a day, for 30 hours; each is logged twice."""
    refreshes = 50_000
    at = f"{NOW} - ({refreshes} - i) * interval '2.16 seconds' - i * 7919 % 1000 * interval '1 millisecond'"
    user = "1 + (i * 7919 + i / 4000 * 31) % 4000"
    made = f"(SELECT i, {user} AS u, {at} AS t FROM generate_series(1, {refreshes}) i) made"
    return Script(
        (
            """CREATE TABLE users (
                instance_id uuid NULL, id uuid NOT NULL, aud varchar(255) NULL, role varchar(255) NULL,
                email varchar(255) NULL, encrypted_password varchar(255) NULL, email_confirmed_at timestamptz NULL,
                invited_at timestamptz NULL, confirmation_token varchar(255) NULL,
                confirmation_sent_at timestamptz NULL, recovery_token varchar(255) NULL,
                recovery_sent_at timestamptz NULL, last_sign_in_at timestamptz NULL, raw_app_meta_data jsonb NULL,
                raw_user_meta_data jsonb NULL, is_super_admin bool NULL, created_at timestamptz NULL,
                updated_at timestamptz NULL, phone text NULL DEFAULT NULL, phone_confirmed_at timestamptz NULL,
                banned_until timestamptz NULL, is_sso_user boolean NOT NULL DEFAULT false,
                deleted_at timestamptz NULL, is_anonymous boolean NOT NULL DEFAULT false,
                CONSTRAINT users_pkey PRIMARY KEY (id), CONSTRAINT users_phone_key UNIQUE (phone))""",
            "CREATE INDEX users_instance_id_email_idx ON users (instance_id, lower(email))",
            "CREATE INDEX users_instance_id_idx ON users (instance_id)",
            "CREATE UNIQUE INDEX users_email_partial_key ON users (email) WHERE is_sso_user = false",
            """CREATE TABLE sessions (
                id uuid NOT NULL, user_id uuid NOT NULL, created_at timestamptz NULL, updated_at timestamptz NULL,
                factor_id uuid NULL, aal text NULL, not_after timestamptz NULL, refreshed_at timestamp NULL,
                user_agent text NULL, ip inet NULL, tag text NULL, CONSTRAINT sessions_pkey PRIMARY KEY (id),
                CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE)""",
            "CREATE INDEX user_id_created_at_idx ON sessions (user_id, created_at)",
            "CREATE INDEX sessions_user_id_idx ON sessions (user_id)",
            "CREATE INDEX sessions_not_after_idx ON sessions (not_after DESC)",
            """CREATE TABLE refresh_tokens (
                instance_id uuid NULL, id bigserial NOT NULL, token varchar(255) NULL, user_id varchar(255) NULL,
                revoked bool NULL, created_at timestamptz NULL, updated_at timestamptz NULL,
                parent varchar(255) NULL, session_id uuid NULL, CONSTRAINT refresh_tokens_pkey PRIMARY KEY (id),
                CONSTRAINT refresh_tokens_token_unique UNIQUE (token), CONSTRAINT refresh_tokens_session_id_fkey
                    FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE)""",
            "CREATE INDEX refresh_tokens_instance_id_idx ON refresh_tokens (instance_id)",
            "CREATE INDEX refresh_tokens_instance_id_user_id_idx ON refresh_tokens (instance_id, user_id)",
            "CREATE INDEX refresh_tokens_parent_idx ON refresh_tokens (parent)",
            "CREATE INDEX refresh_tokens_session_id_revoked_idx ON refresh_tokens (session_id, revoked)",
            "CREATE INDEX refresh_tokens_updated_at_idx ON refresh_tokens (updated_at DESC)",
            """CREATE TABLE audit_log_entries (
                instance_id uuid NULL, id uuid NOT NULL, payload json NULL, created_at timestamptz NULL,
                ip_address varchar(64) NOT NULL DEFAULT '', CONSTRAINT audit_log_entries_pkey PRIMARY KEY (id))""",
            "CREATE INDEX audit_logs_instance_id_idx ON audit_log_entries (instance_id)",
            """CREATE TABLE schema_migrations (
                version varchar(255) NOT NULL, CONSTRAINT schema_migrations_pkey PRIMARY KEY (version))""",
            f"""INSERT INTO users
                    (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, last_sign_in_at,
                    raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
                SELECT {_NO_INSTANCE}, md5('user' || u)::uuid, 'authenticated', 'authenticated',
                    'member' || u || '@example' || u % 90 || '.com', '$2a$10$' || md5('password' || u),
                    {NOW} - u * interval '2 hours', {NOW} - u % 30 * interval '1 day',
                    '{{"provider": "email", "providers": ["email"]}}'::jsonb,
                    jsonb_build_object('full_name', 'Member Number ' || u, 'email_verified', true),
                    {NOW} - u * interval '2 hours', {NOW} - u % 30 * interval '1 day'
                FROM generate_series(4000, 1, -1) u""",
            f"""INSERT INTO sessions (id, user_id, created_at, updated_at, aal, refreshed_at, user_agent, ip)
                SELECT md5('session' || u)::uuid, md5('user' || u)::uuid, {NOW} - u % 30 * interval '1 day' - u
                    * interval '1 second', {NOW} - u % 48 * interval '1 hour', 'aal1', timestamp '2026-03-31 05:00:00'
                    - u % 48 * interval '30 minutes', (ARRAY['Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X)',
                    'okhttp/4.12.0', 'Dart/3.5 (dart:io)'])[1 + u % 3], ('192.0.2.' || u % 250)::inet
                FROM generate_series(1, 4000) u""",
            f"""INSERT INTO refresh_tokens
                    (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
                SELECT {_NO_INSTANCE}, substr(md5('token' || i), 1, 12), md5('user' || u)::uuid::text,
                    i <= {refreshes} - 4000, t, t + interval '1 hour', substr(md5('token' || i - 4000), 1, 12),
                    md5('session' || u)::uuid
                FROM {made} ORDER BY i""",
            f"""INSERT INTO audit_log_entries
                SELECT {_NO_INSTANCE}, md5(a || i)::uuid, ('{{"action":"' || a || '","actor_id":"'
                    || md5('user' || u)::uuid || '","actor_name":"Member Number ' || u || '","actor_username":"member'
                    || u || '@example' || u % 90 || '.com","actor_via_sso":false,"log_type":"token"}}')::json,
                    t + n * interval '2 milliseconds', ''
                FROM {made}, (VALUES (0, 'token_refreshed'), (1, 'token_revoked')) actions (n, a) ORDER BY i, n""",
            """INSERT INTO schema_migrations SELECT 20210710035447 + v * 100000000::bigint FROM
                generate_series(0, 40) v""",
        ),
        then=(
            f"DELETE FROM refresh_tokens WHERE revoked AND updated_at < {NOW} - interval '24 hours'",
            "SELECT pg_stat_force_next_flush()",
            "VACUUM ANALYZE users, sessions, refresh_tokens, audit_log_entries",
            "SELECT pg_stat_force_next_flush()",
        ),
    )


# --- Umami -------------------------------------------------------------------------------------------------------


def _umami() -> Script:
    """A forum, its shop, and its blog: 100,000 views of 8,300 sessions a day, since yesterday."""
    views = 90_000
    event = ", ".join(f"{name} varchar(255)" for name in ("utm_source", "utm_medium", "utm_campaign", "utm_content"))
    click = ", ".join(
        f"{name} varchar(255)" for name in ("gclid", "fbclid", "msclkid", "ttclid", "li_fat_id", "twclid")
    )
    vitals = "lcp decimal(10, 1), inp decimal(10, 1), cls decimal(10, 4), fcp decimal(10, 1), ttfb decimal(10, 1)"
    by_day = ("url_path", "url_query", "referrer_domain", "page_title", "event_name", "tag", "hostname")
    of_session = ("browser", "os", "device", "screen", "language", "country", "region", "city")
    site = "md5('website' || CASE WHEN i % 10 < 8 THEN 0 ELSE i % 10 - 7 END)::uuid"
    session = "(i / 12 + i % 3 * 7)"
    return Script(
        (
            """CREATE TABLE website (
                website_id uuid NOT NULL, name varchar(100) NOT NULL, domain varchar(500), reset_at timestamptz(6),
                user_id uuid, team_id uuid, created_by uuid, created_at timestamptz(6) DEFAULT CURRENT_TIMESTAMP,
                updated_at timestamptz(6), deleted_at timestamptz(6),
                CONSTRAINT website_pkey PRIMARY KEY (website_id))""",
            "CREATE INDEX website_user_id_idx ON website (user_id)",
            "CREATE INDEX website_created_at_idx ON website (created_at)",
            """CREATE TABLE session (
                session_id uuid NOT NULL, website_id uuid NOT NULL, browser varchar(20), os varchar(20),
                device varchar(20), screen varchar(11), language varchar(35), country char(2), region varchar(20),
                city varchar(50), distinct_id varchar(50), created_at timestamptz(6) DEFAULT CURRENT_TIMESTAMP,
                CONSTRAINT session_pkey PRIMARY KEY (session_id))""",
            f"""CREATE TABLE website_event (
                event_id uuid NOT NULL, website_id uuid NOT NULL, session_id uuid NOT NULL, visit_id uuid NOT NULL,
                created_at timestamptz(6) DEFAULT CURRENT_TIMESTAMP, url_path varchar(500) NOT NULL,
                url_query varchar(500), {event}, utm_term varchar(255), referrer_path varchar(500),
                referrer_query varchar(500), referrer_domain varchar(500), page_title varchar(500), {click},
                event_type integer NOT NULL DEFAULT 1, event_name varchar(50), tag varchar(50), hostname varchar(100),
                {vitals}, CONSTRAINT website_event_pkey PRIMARY KEY (event_id))""",
            """CREATE TABLE event_data (
                event_data_id uuid NOT NULL, website_id uuid NOT NULL, website_event_id uuid NOT NULL,
                data_key varchar(500) NOT NULL, string_value varchar(500), number_value decimal(19, 4),
                date_value timestamptz(6), data_type integer NOT NULL,
                created_at timestamptz(6) DEFAULT CURRENT_TIMESTAMP,
                CONSTRAINT event_data_pkey PRIMARY KEY (event_data_id))""",
            "CREATE INDEX session_created_at_idx ON session (created_at)",
            "CREATE INDEX session_website_id_idx ON session (website_id)",
            "CREATE INDEX session_website_id_created_at_idx ON session (website_id, created_at)",
            *(
                f"CREATE INDEX session_website_id_created_at_{name}_idx ON session (website_id, created_at, {name})"
                for name in of_session
            ),
            "CREATE INDEX website_event_created_at_idx ON website_event (created_at)",
            "CREATE INDEX website_event_session_id_idx ON website_event (session_id)",
            "CREATE INDEX website_event_visit_id_idx ON website_event (visit_id)",
            "CREATE INDEX website_event_website_id_idx ON website_event (website_id)",
            "CREATE INDEX website_event_website_id_created_at_idx ON website_event (website_id, created_at)",
            *(
                f"""CREATE INDEX website_event_website_id_created_at_{name}_idx
                    ON website_event (website_id, created_at, {name})"""
                for name in by_day
            ),
            *(
                f"""CREATE INDEX website_event_website_id_{name}_id_created_at_idx
                    ON website_event (website_id, {name}_id, created_at)"""
                for name in ("session", "visit")
            ),
            "CREATE INDEX event_data_created_at_idx ON event_data (created_at)",
            "CREATE INDEX event_data_website_id_idx ON event_data (website_id)",
            "CREATE INDEX event_data_website_event_id_idx ON event_data (website_event_id)",
            "CREATE INDEX event_data_website_id_created_at_idx ON event_data (website_id, created_at)",
            """CREATE INDEX event_data_website_id_created_at_data_key_idx
                ON event_data (website_id, created_at, data_key)""",
            f"""INSERT INTO website (website_id, name, domain, created_at)
                SELECT md5('website' || n)::uuid, d, d, {NOW} - interval '22 hours'
                FROM (VALUES (0, 'forum.example.org'), (1, 'shop.example.org'), (2, 'blog.example.org')) w (n, d)""",
            f"""INSERT INTO session
                SELECT md5('session' || s)::uuid,
                    md5('website' || CASE WHEN s % 10 < 8 THEN 0 ELSE s % 10 - 7 END)::uuid,
                    (ARRAY['chrome', 'firefox', 'ios', 'edge-chromium'])[1 + s % 4],
                    (ARRAY['Windows 10', 'Linux', 'iOS', 'Android OS'])[1 + s % 4],
                    (ARRAY['desktop', 'laptop', 'mobile'])[1 + s % 3],
                    (ARRAY['1920x1080', '1440x900', '390x844', '412x915'])[1 + s % 4],
                    (ARRAY['en-US', 'de-DE', 'fr-FR'])[1 + s % 3], (ARRAY['US', 'DE', 'FR'])[1 + s % 3],
                    (ARRAY['US-CA', 'DE-BE', 'FR-IDF'])[1 + s % 3], (ARRAY['San Jose', 'Berlin', 'Paris'])[1 + s % 3],
                    NULL, {NOW} - (7500 - s) * interval '10.368 seconds'
                FROM generate_series(0, 7520) s ORDER BY s""",
            f"""INSERT INTO website_event
                    (event_id, website_id, session_id, visit_id, created_at, url_path, url_query, referrer_path,
                    referrer_domain, page_title, event_type, event_name, hostname)
                SELECT md5('event' || i)::uuid, {site}, md5('session' || {session})::uuid,
                    md5('visit' || {session})::uuid, {NOW} - ({views} - i) * interval '0.864 seconds',
                    '/t/' || (i * 7919 % 20011) || '/pumps', CASE WHEN i % 20 = 0 THEN 'page=2' END,
                    CASE WHEN i % 12 = 0 THEN '/' END, CASE WHEN i % 12 = 0 THEN 'google.com' END,
                    'Pump ' || (i * 7919 % 20011) || ' - Forum', CASE WHEN i % 40 = 0 THEN 2 ELSE 1
                    END, CASE WHEN i % 40 = 0 THEN 'reply-sent' END,
                    (ARRAY['forum', 'shop', 'blog'])[1 + CASE WHEN i % 10 < 8 THEN 0 ELSE i % 10 - 7 END]
                        || '.example.org'
                FROM generate_series(1, {views}) i""",
            f"""INSERT INTO event_data
                SELECT md5('data' || i)::uuid, {site}, md5('event' || i)::uuid, 'words', NULL, i % 400, NULL, 2,
                    {NOW} - ({views} - i) * interval '0.864 seconds'
                FROM generate_series(40, {views}, 40) i""",
        ),
        then=("VACUUM ANALYZE website, session, website_event, event_data", "SELECT pg_stat_force_next_flush()"),
    )


DATABASES: Final = (
    BlindDatabase(
        "supabase-auth",
        "postgresql",
        "https://github.com/supabase/auth/tree/master/migrations",
        _supabase,
        (
            Expected(
                Cause.REPEATED_BYTES,
                "audit_log_entries.payload",
                Grade.HARMFUL,
                "8,000 different documents, two for each user, in 100,000 rows: 199 B in each of 80,000 rows a day, "
                "5.8 GB in a year, 70 % of the table; the log can be kept out of the database",
            ),
            Expected(
                Cause.INDEX,
                "audit_logs_instance_id_idx",
                Grade.HARMFUL,
                "on a column with one value, so no query can use it: 6.6 B for each of 80,000 rows a day, 193 MB in a "
                "year, and a write for each row",
            ),
            Expected(
                Cause.INDEX,
                "refresh_tokens_instance_id_idx",
                Grade.HARMLESS,
                "on a column with one value, and the start of refresh_tokens_instance_id_user_id_idx; tokens are "
                "deleted a day after they are revoked, so it stays at 0.3 MB",
            ),
            Expected(
                Cause.INDEX,
                "sessions_user_id_idx",
                Grade.HARMLESS,
                "(user_id) repeats the start of user_id_created_at_idx: 0.2 MB for 4,000 sessions",
            ),
            Expected(
                Cause.INDEX,
                "users_instance_id_idx",
                Grade.HARMLESS,
                "on a column with one value, and the start of users_instance_id_email_idx: 0.05 MB for 4,000 users",
            ),
            Expected(
                Cause.RETENTION,
                "audit_log_entries",
                Grade.HARMLESS,
                "nothing removes entries: 8.3 GB and 1.5 GB of indexes in a year, with no known disk limit",
            ),
            Expected(
                Cause.NO_INDEX,
                "audit_log_entries*",
                Grade.HARMLESS,
                "no index on created_at: 100,000 rows, 28 MB, are read in milliseconds, and nobody has asked yet",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "*.instance_id",
                Grade.HARMLESS,
                "the same UUID in each row: 16 B for each of 80,000 entries a day, 0.5 GB in a year",
            ),
            Expected(
                Cause.SPARSE,
                "*.*",
                Grade.HARMLESS,
                "phone, invitations, factors, and tags are empty, at a bit each, and ip_address is an empty text",
            ),
            Expected(
                Cause.NUMBER_AS_TEXT,
                "*.*",
                Grade.HARMLESS,
                "refresh_tokens.user_id is a UUID as text, 24 B more in each of 41,667 rows: 1 MB; versions of the "
                "schema are names",
            ),
        ),
    ),
    BlindDatabase(
        "umami-forum",
        "postgresql",
        "https://github.com/umami-software/umami/blob/master/prisma/schema.prisma",
        _umami,
        (
            Expected(
                Cause.INDEX,
                "website_event_website_id_created_at_idx",
                Grade.HARMFUL,
                "(website_id, created_at) is the start of seven other indexes: 70 B for each of 100,000 rows a day, "
                "2.6 GB in a year, 41 % of the table and 6 % of it with its indexes",
            ),
            Expected(
                Cause.INDEX,
                "website_event_website_id_idx",
                Grade.HARMFUL,
                "(website_id), three values, is the start of ten other indexes: 6.8 B for each of 100,000 rows a day, "
                "250 MB in a year, and one of 15 writes for each row",
            ),
            Expected(
                Cause.INDEX,
                "website_event_website_id_created_at_tag_idx",
                Grade.HARMFUL,
                "tag is empty in every row, so it finds what (website_id, created_at) finds: 86 B for each of 100,000 "
                "rows a day, 3.1 GB in a year",
            ),
            Expected(
                Cause.INDEX,
                "session_website_id_created_at_idx",
                Grade.HARMFUL,
                "(website_id, created_at) is the start of eight other indexes: 71 B for each of 8,300 rows a day, "
                "215 MB in a year, 7 % of the table with its indexes",
            ),
            Expected(
                Cause.INDEX,
                "session_website_id_idx",
                Grade.HARMLESS,
                "(website_id) repeats the start of others: 10 B for each of 8,300 rows a day, 30 MB in a year",
            ),
            Expected(
                Cause.INDEX,
                "event_data_website_id*",
                Grade.HARMLESS,
                "(website_id) and (website_id, created_at) repeat the start of the next one: 62 B for each of 2,500 "
                "rows a day, 56 MB in a year",
            ),
            Expected(
                Cause.INDEX,
                "website_event_website_id_created_at_event_name_idx",
                Grade.HARMLESS,
                "events have a name in 2.5 % of the rows, and 3.1 GB a year is much for them; but the report of events "
                "reads the index, and a partial one is not what the program migrates to",
            ),
            Expected(
                Cause.INDEX,
                "website_event_website_id_created_at_url_query_idx",
                Grade.HARMLESS,
                "5 % of the rows have a query, for 3.1 GB a year; but the report of queries reads the index",
            ),
            Expected(
                Cause.RETENTION,
                "website_event",
                Grade.HARMLESS,
                "nothing removes views: 43 GB in a year, of which 36 GB are indexes, with no known disk limit",
            ),
            Expected(
                Cause.SPARSE,
                "website_event.*",
                Grade.HARMLESS,
                "campaigns, click IDs, and web vitals are empty in every row, at a bit each",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "website_event.*",
                Grade.HARMLESS,
                "titles, paths, and hostnames repeat: 18, 14, and 18 B in each row, below 0.7 GB a year each",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "website_event.*",
                Grade.HARMLESS,
                "hostname follows from website_id, and page_title from url_path",
            ),
        ),
    ),
)

-- Moves the rows of version 1.0 to the tables that replace "SecurityEvent" and "PushDelivery". Instances of version 1.0 may
-- still run. The events that they write from here on are moved by a trigger. Their notifications they send themselves. A
-- later release drops both tables, the trigger and its functions.

-- Version 1.0 marked what an operator did by the user agent. It left the events of a deleted account under its id: the
-- account gets a random pseudonym, and what describes a client is removed.
CREATE FUNCTION homeport_move_security_events() RETURNS void LANGUAGE sql AS $$
  WITH moved AS (
    DELETE FROM "SecurityEvent" RETURNING *
  ), deleted AS MATERIALIZED (
    SELECT "accountId" AS "id", gen_random_uuid() AS "pseudonym"
    FROM (SELECT DISTINCT "accountId" FROM moved) AS account
    WHERE NOT EXISTS (SELECT FROM "Account" WHERE "Account"."id" = account."accountId")
  ), renamed AS (
    UPDATE "AuditEvent" AS event
    SET "accountId" = deleted."pseudonym", "network" = NULL, "userAgent" = NULL, "details" = NULL
    FROM deleted WHERE event."accountId" = deleted."id"
  )
  INSERT INTO "AuditEvent" ("id", "accountId", "type", "at", "actor", "network", "userAgent")
  SELECT moved."id", coalesce(deleted."pseudonym", moved."accountId"), moved."type"::text, moved."at",
    CASE WHEN moved."userAgent" = 'operator' THEN 'operator' ELSE 'account' END,
    CASE WHEN deleted."id" IS NULL THEN moved."network" END,
    CASE WHEN deleted."id" IS NULL THEN nullif(moved."userAgent", 'operator') END
  FROM moved LEFT JOIN deleted ON deleted."id" = moved."accountId"
$$;

CREATE FUNCTION homeport_on_security_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM homeport_move_security_events();
  RETURN NULL;
END $$;

-- Most rows before the trigger, whose creation lets sign-ins of version 1.0 wait; those of the meantime after it.
SELECT homeport_move_security_events();
CREATE TRIGGER homeport_security_event AFTER INSERT ON "SecurityEvent"
  FOR EACH STATEMENT EXECUTE FUNCTION homeport_on_security_event();
SELECT homeport_move_security_events();

-- Rows that version 1.0 is sending or deleting stay. The devices and accounts are locked before their new rows refer to them:
-- a device or an account that is being deleted takes its deliveries along.
WITH locked AS MATERIALIZED (
  SELECT old."id", device."accountId"
  FROM "PushDelivery" AS old
    JOIN "PushDevice" AS device ON device."id" = old."deviceId"
    JOIN "Account" AS account ON account."id" = device."accountId"
  WHERE old."state" <> 'sending' OR old."leaseUntil" < now()
  FOR UPDATE OF old SKIP LOCKED FOR KEY SHARE OF device, account SKIP LOCKED
), old AS (
  DELETE FROM "PushDelivery" AS old USING locked WHERE old."id" = locked."id"
  RETURNING old.*, locked."accountId", CASE
    WHEN old."kind" IN ('push.challenge', 'security.new_sign_in', 'security.password_changed') THEN 0
    WHEN old."kind" = 'app.new_version' THEN 2
    ELSE 1
  END AS "queuePriority"
), message AS (
  INSERT INTO "PushMessage" AS known ("id", "eventKey", "accountId", "kind", "payload", "priority", "collapseId", "expiresAt")
  SELECT DISTINCT ON ("eventKey") "id", "eventKey", CASE WHEN "kind" <> 'app.new_version' THEN "accountId" END,
    "kind", "payload", "priority", "collapseId", max("expiresAt") OVER (PARTITION BY "eventKey")
  FROM old ORDER BY "eventKey"
  ON CONFLICT ("eventKey") DO UPDATE SET "expiresAt" = greatest(known."expiresAt", EXCLUDED."expiresAt")
  RETURNING "id", "eventKey"
), queued AS (
  INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority", "attempts",
    "apnsStatus", "reason")
  SELECT old."deviceId", message."id", old."id", old."nextAttemptAt", old."expiresAt", old."queuePriority",
    old."attempts" + (old."state" = 'sending')::int, old."apnsStatus", old."reason"
  FROM old JOIN message ON message."eventKey" = old."eventKey"
  WHERE old."state" IN ('queued', 'sending') AND NOT EXISTS (
    SELECT FROM "PushReceipt" AS receipt
    WHERE receipt."messageId" = message."id" AND receipt."deviceId" = old."deviceId"
  )
  ON CONFLICT DO NOTHING
)
INSERT INTO "PushReceipt" ("messageId", "deviceId", "id", "endedAt", "expiresAt", "state", "attempts", "apnsStatus", "reason")
SELECT message."id", old."deviceId", old."id", coalesce(old."sentAt", old."createdAt"), old."expiresAt", old."state",
  old."attempts", old."apnsStatus", old."reason"
FROM old JOIN message ON message."eventKey" = old."eventKey"
WHERE old."state" NOT IN ('queued', 'sending')
ON CONFLICT DO NOTHING;

-- Messages to an account or its devices are in the account's trail: its deletion removes what names them.
UPDATE "AuditEvent" AS event SET "accountId" = "Account"."id" FROM "Account"
WHERE event."type" = 'push_sent' AND event."accountId" IS NULL AND event."details" ->> 'accountId' = "Account"."id"::text;

UPDATE "AuditEvent" AS event SET "accountId" = device."accountId" FROM "PushDevice" AS device
WHERE event."type" = 'push_sent' AND event."accountId" IS NULL AND event."details" ->> 'deviceId' = device."id"::text;

UPDATE "AuditEvent" SET "details" = "details" - 'accountId'
WHERE "type" = 'push_sent' AND "details" ? 'accountId';

UPDATE "AuditEvent" SET "details" = "details" - 'deviceId'
WHERE "type" = 'push_sent' AND "accountId" IS NULL AND "details" ? 'deviceId';

-- AlterTable
ALTER TABLE "PushMessage" ADD COLUMN     "canceledAt" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "QueuedEmail" ADD COLUMN     "lastError" TEXT,
ADD COLUMN     "retryAt" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "PushBroadcast" (
    "messageId" UUID NOT NULL,
    "bundleId" TEXT,
    "perSecond" INTEGER NOT NULL,
    "estimatedDevices" INTEGER NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL,
    "afterDeviceId" UUID NOT NULL,
    "queued" INTEGER NOT NULL DEFAULT 0,
    "nextDueAt" TIMESTAMPTZ(3) NOT NULL,
    "endedAt" TIMESTAMPTZ(3),

    CONSTRAINT "PushBroadcast_pkey" PRIMARY KEY ("messageId")
);

-- CreateTable
CREATE TABLE "PushOutcomeCount" (
    "messageId" UUID NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "state" "PushDeliveryState" NOT NULL,
    "reason" TEXT NOT NULL,
    "writer" UUID NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "PushOutcomeCount_pkey" PRIMARY KEY ("messageId","hour","state","reason","writer")
);

-- CreateIndex
CREATE INDEX "PushBroadcast_open_idx" ON "PushBroadcast"("messageId") WHERE ("endedAt" IS NULL);

-- CreateIndex
CREATE INDEX "PushOutcomeCount_hour_idx" ON "PushOutcomeCount"("hour");

-- CreateIndex
CREATE INDEX "PushMessage_operator_idx" ON "PushMessage"("id") WHERE (kind = ANY (ARRAY['custom'::text, 'app.new_version'::text]));

-- CreateIndex
CREATE INDEX "PushReceipt_unsent_state_idx" ON "PushReceipt"("state", "endedAt", "id") WHERE (state <> 'sent'::"PushDeliveryState");

-- CreateIndex
CREATE INDEX "PushReceipt_unsent_reason_idx" ON "PushReceipt"("reason", "endedAt", "id") WHERE (state <> 'sent'::"PushDeliveryState");

-- CreateIndex
CREATE INDEX "PushReceipt_unsent_message_idx" ON "PushReceipt"("messageId", "deviceId") WHERE (state <> 'sent'::"PushDeliveryState");

-- CreateIndex
CREATE INDEX "QueuedEmail_email_idx" ON "QueuedEmail"("email");

-- AddForeignKey
ALTER TABLE "PushBroadcast" ADD CONSTRAINT "PushBroadcast_messageId_fkey" FOREIGN KEY ("messageId") REFERENCES "PushMessage"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The deliveries that have ended before. What the previous build ends while both run is not counted.
INSERT INTO "PushOutcomeCount" ("messageId", "hour", "state", "reason", "writer", "count")
SELECT CASE WHEN message."id" IS NULL THEN '00000000-0000-0000-0000-000000000000' ELSE receipt."messageId" END,
  date_trunc('hour', receipt."endedAt", 'UTC'), receipt."state", coalesce(receipt."reason", ''),
  '00000000-0000-0000-0000-000000000000', count(*)
FROM "PushReceipt" AS receipt LEFT JOIN "PushMessage" AS message
  ON message."id" = receipt."messageId" AND message."accountId" IS NULL AND message."deviceId" IS NULL
GROUP BY 1, 2, 3, 4;

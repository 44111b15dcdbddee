-- CreateTable
CREATE TABLE "PushMessage" (
    "id" UUID NOT NULL,
    "eventKey" TEXT NOT NULL,
    "accountId" UUID,
    "deviceId" UUID,
    "kind" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "priority" SMALLINT NOT NULL,
    "collapseId" TEXT,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "PushMessage_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "QueuedPush" (
    "deviceId" UUID NOT NULL,
    "messageId" UUID NOT NULL,
    "id" UUID NOT NULL,
    "nextAttemptAt" TIMESTAMPTZ(3) NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,
    "leaseUntil" TIMESTAMPTZ(3),
    "queuePriority" SMALLINT NOT NULL,
    "attempts" SMALLINT NOT NULL DEFAULT 0,
    "apnsStatus" SMALLINT,
    "reason" TEXT,

    CONSTRAINT "QueuedPush_pkey" PRIMARY KEY ("deviceId","messageId")
);

-- CreateTable
CREATE TABLE "PushReceipt" (
    "messageId" UUID NOT NULL,
    "deviceId" UUID NOT NULL,
    "id" UUID NOT NULL,
    "endedAt" TIMESTAMPTZ(3) NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,
    "state" "PushDeliveryState" NOT NULL,
    "attempts" SMALLINT NOT NULL,
    "apnsStatus" SMALLINT,
    "reason" TEXT,

    CONSTRAINT "PushReceipt_pkey" PRIMARY KEY ("messageId","deviceId")
);

-- CreateIndex
CREATE UNIQUE INDEX "PushMessage_eventKey_key" ON "PushMessage"("eventKey");

-- CreateIndex
CREATE INDEX "PushMessage_account_idx" ON "PushMessage"("accountId") WHERE ("accountId" IS NOT NULL);

-- CreateIndex
CREATE INDEX "PushMessage_device_idx" ON "PushMessage"("deviceId") WHERE ("deviceId" IS NOT NULL);

-- CreateIndex
CREATE INDEX "PushMessage_broadcast_idx" ON "PushMessage"("id") WHERE (("accountId" IS NULL) AND ("deviceId" IS NULL));

-- CreateIndex
CREATE INDEX "QueuedPush_due_idx" ON "QueuedPush"("queuePriority", "nextAttemptAt") WHERE ("leaseUntil" IS NULL);

-- CreateIndex
CREATE INDEX "QueuedPush_lease_idx" ON "QueuedPush"("leaseUntil") WHERE ("leaseUntil" IS NOT NULL);

-- CreateIndex
CREATE INDEX "PushReceipt_endedAt_idx" ON "PushReceipt"("endedAt");

-- CreateIndex
CREATE INDEX "PushReceipt_failed_idx" ON "PushReceipt"("id") WHERE ("state" = 'failed');

-- AddForeignKey
ALTER TABLE "PushMessage" ADD CONSTRAINT "PushMessage_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "PushMessage" ADD CONSTRAINT "PushMessage_deviceId_fkey" FOREIGN KEY ("deviceId") REFERENCES "PushDevice"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "QueuedPush" ADD CONSTRAINT "QueuedPush_deviceId_fkey" FOREIGN KEY ("deviceId") REFERENCES "PushDevice"("id") ON DELETE CASCADE ON UPDATE CASCADE;

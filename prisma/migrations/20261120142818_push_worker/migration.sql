-- DropIndex
DROP INDEX "PushDelivery_deviceId_idx";

-- DropIndex
DROP INDEX "PushDelivery_eventKey_deviceId_key";

-- CreateTable
CREATE TABLE "PushPause" (
    "environment" "PushEnvironment" NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "reason" TEXT NOT NULL,

    CONSTRAINT "PushPause_pkey" PRIMARY KEY ("environment")
);

-- CreateIndex
CREATE INDEX "PushDelivery_sending_idx" ON "PushDelivery"("leaseUntil") WHERE ("state" = 'sending');

-- CreateIndex
CREATE UNIQUE INDEX "PushDelivery_deviceId_eventKey_key" ON "PushDelivery"("deviceId", "eventKey");

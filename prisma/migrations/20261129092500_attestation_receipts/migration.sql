-- CreateTable
CREATE TABLE "AttestationReceipt" (
    "deviceId" UUID NOT NULL,
    "receipt" BYTEA NOT NULL,
    "riskMetric" INTEGER,
    "riskMetricAt" TIMESTAMPTZ(3),
    "nextAttemptAt" TIMESTAMPTZ(3),

    CONSTRAINT "AttestationReceipt_pkey" PRIMARY KEY ("deviceId")
);

-- CreateIndex
CREATE INDEX "AttestationReceipt_due_idx" ON "AttestationReceipt"("nextAttemptAt") WHERE ("nextAttemptAt" IS NOT NULL);

-- AddForeignKey
ALTER TABLE "AttestationReceipt" ADD CONSTRAINT "AttestationReceipt_deviceId_fkey" FOREIGN KEY ("deviceId") REFERENCES "PushDevice"("id") ON DELETE CASCADE ON UPDATE CASCADE;

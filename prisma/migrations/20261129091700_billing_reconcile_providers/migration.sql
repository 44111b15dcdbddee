-- CreateTable
CREATE TABLE "BillingReconcileJob" (
    "provider" TEXT NOT NULL,
    "reference" TEXT NOT NULL,
    "nextAttemptAt" TIMESTAMPTZ(3) NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "BillingReconcileJob_pkey" PRIMARY KEY ("provider","reference")
);

-- CreateTable
CREATE TABLE "BillingSweep" (
    "provider" TEXT NOT NULL,
    "nextAt" TIMESTAMPTZ(3) NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "readUntil" TIMESTAMPTZ(3),
    "untilTime" TIMESTAMPTZ(3),
    "position" TEXT,
    "found" INTEGER NOT NULL DEFAULT 0,
    "lastFound" INTEGER NOT NULL DEFAULT 0,
    "finishedAt" TIMESTAMPTZ(3),
    "failure" TEXT,

    CONSTRAINT "BillingSweep_pkey" PRIMARY KEY ("provider")
);

-- CreateIndex
CREATE INDEX "BillingReconcileJob_provider_nextAttemptAt_idx" ON "BillingReconcileJob"("provider", "nextAttemptAt");

-- CreateIndex
CREATE INDEX "BillingReconcileJob_nextAttemptAt_idx" ON "BillingReconcileJob"("nextAttemptAt");
-- The customers that version 1.0 has scheduled.
INSERT INTO "BillingReconcileJob" ("provider", "reference", "nextAttemptAt", "attempts")
SELECT 'revenuecat', "appUserId", "nextAttemptAt", "attempts" FROM "ReconcileJob";

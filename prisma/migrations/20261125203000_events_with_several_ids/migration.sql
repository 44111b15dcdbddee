-- CreateIndex
CREATE INDEX "BillingEvent_several_ids_idx" ON "BillingEvent" USING GIN ("appUserIds") WHERE (cardinality("appUserIds") > 1);

-- As for the other indexes on App User IDs: see 20261122163800_billing_gin.
ALTER INDEX "BillingEvent_several_ids_idx" SET (fastupdate = off);

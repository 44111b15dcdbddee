-- CreateIndex
CREATE INDEX "Purchase_provider_productId_idx" ON "Purchase"("provider", "productId");

-- CreateIndex
CREATE INDEX "Purchase_without_entitlement_idx" ON "Purchase"("provider", "productId") WHERE ((cardinality("entitlementIds") = 0) AND ("productId" IS NOT NULL) AND ("periodType" IS NOT NULL) AND ("endedAt" IS NULL) AND ("refundedAt" IS NULL));

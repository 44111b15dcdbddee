-- CreateIndex
-- Comparisons by bytes find prefixes, whatever the database's collation is.
CREATE INDEX "ApiKey_prefix_idx" ON "ApiKey"("prefix" COLLATE "C");

-- CreateIndex
CREATE INDEX "PushDevice_token_prefix_idx" ON "PushDevice"("token" COLLATE "C");

-- CreateIndex
CREATE INDEX "PushDevice_installation_idx" ON "PushDevice"("installationId") WHERE ("installationId" IS NOT NULL);

-- DropIndex
DROP INDEX "PushDevice_pending_createdAt_idx";

-- CreateIndex
CREATE INDEX "PushDevice_token_idx" ON "PushDevice"("token");

-- CreateIndex
CREATE INDEX "PushDevice_pending_registeredAt_idx" ON "PushDevice"("registeredAt") WHERE ("status" = 'pending');

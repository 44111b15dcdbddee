-- DropIndex
DROP INDEX "PushDevice_accountId_environment_bundleId_token_key";

-- CreateIndex
-- Its condition is always true. Without one, a change of a device's token locks the row as its deletion does.
CREATE UNIQUE INDEX "PushDevice_account_token_key" ON "PushDevice"("accountId", "environment", "bundleId", "token") WHERE ("accountId" IS NOT NULL);

-- DropIndex
DROP INDEX "PushDevice_accountId_installationId_key";

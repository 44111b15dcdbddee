-- AlterTable
ALTER TABLE "Account" ADD COLUMN     "externalId" TEXT;

-- CreateTable
CREATE TABLE "AccountAlias" (
    "appUserId" TEXT NOT NULL,
    "accountId" UUID NOT NULL,

    CONSTRAINT "AccountAlias_pkey" PRIMARY KEY ("appUserId")
);

-- CreateIndex
CREATE INDEX "AccountAlias_accountId_idx" ON "AccountAlias"("accountId");

-- CreateIndex
CREATE UNIQUE INDEX "Account_externalId_key" ON "Account"("externalId");

-- CreateIndex
-- See lib/auth/passwords/dummy-hash.ts.
CREATE INDEX "Account_password_kind_idx" ON "Account" ((
  CASE WHEN "passwordHash" LIKE '{%'
  THEN regexp_replace("passwordHash", '[$][^$]*[$][^$]*$', '') || length("passwordHash")::text
  ELSE left("passwordHash", 7) END
)) WHERE "passwordHash" IS NOT NULL;

-- AddForeignKey
ALTER TABLE "AccountAlias" ADD CONSTRAINT "AccountAlias_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

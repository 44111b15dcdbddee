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
CREATE INDEX "Account_imported_password_idx" ON "Account"("id") WHERE ("passwordHash" ~~ '{%'::text);

-- AddForeignKey
ALTER TABLE "AccountAlias" ADD CONSTRAINT "AccountAlias_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

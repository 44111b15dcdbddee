-- CreateTable
CREATE TABLE "EmailChange" (
    "id" UUID NOT NULL,
    "accountId" UUID NOT NULL,
    "oldEmail" TEXT NOT NULL,
    "newEmail" TEXT NOT NULL,
    "confirmTokenHash" TEXT NOT NULL,
    "undoTokenHash" TEXT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL,
    "confirmExpiresAt" TIMESTAMPTZ(3) NOT NULL,
    "confirmedAt" TIMESTAMPTZ(3),
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "EmailChange_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "EmailChange_confirmTokenHash_key" ON "EmailChange"("confirmTokenHash");

-- CreateIndex
CREATE UNIQUE INDEX "EmailChange_undoTokenHash_key" ON "EmailChange"("undoTokenHash");

-- CreateIndex
CREATE INDEX "EmailChange_accountId_idx" ON "EmailChange"("accountId");

-- CreateIndex
CREATE INDEX "EmailChange_oldEmail_idx" ON "EmailChange"("oldEmail");

-- CreateIndex
CREATE INDEX "EmailChange_expiresAt_idx" ON "EmailChange"("expiresAt");

-- AddForeignKey
ALTER TABLE "EmailChange" ADD CONSTRAINT "EmailChange_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

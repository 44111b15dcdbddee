-- CreateTable
CREATE TABLE "RecognizedClient" (
    "key" TEXT NOT NULL,
    "accountId" UUID NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "RecognizedClient_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE INDEX "RecognizedClient_accountId_idx" ON "RecognizedClient"("accountId");

-- CreateIndex
CREATE INDEX "RecognizedClient_expiresAt_idx" ON "RecognizedClient"("expiresAt");

-- AddForeignKey
ALTER TABLE "RecognizedClient" ADD CONSTRAINT "RecognizedClient_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

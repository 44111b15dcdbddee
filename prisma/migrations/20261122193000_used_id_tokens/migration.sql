-- CreateTable
CREATE TABLE "UsedIdToken" (
    "hash" TEXT NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "UsedIdToken_pkey" PRIMARY KEY ("hash")
);

-- CreateIndex
CREATE INDEX "UsedIdToken_expiresAt_idx" ON "UsedIdToken"("expiresAt");

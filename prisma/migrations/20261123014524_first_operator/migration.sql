-- CreateTable
CREATE TABLE "FirstOperatorLink" (
    "tokenHash" TEXT NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "FirstOperatorLink_pkey" PRIMARY KEY ("tokenHash")
);

-- CreateIndex
CREATE INDEX "Account_operators_idx" ON "Account"("role") WHERE (role <> 'user'::"AccountRole");

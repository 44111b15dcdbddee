-- CreateTable
-- UNLOGGED: a counter is worth neither its write-ahead log nor a flush to disk. A crash of the server empties the table.
-- The table "RateLimit" stays for the previous build, which counts there while this migration runs.
CREATE UNLOGGED TABLE "RateLimitCounter" (
    "key" TEXT NOT NULL,
    "uses" INTEGER NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "RateLimitCounter_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE INDEX "RateLimitCounter_expiresAt_idx" ON "RateLimitCounter"("expiresAt");

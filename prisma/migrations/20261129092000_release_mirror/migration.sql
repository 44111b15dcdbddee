-- CreateTable
CREATE TABLE "ReleaseMirror" (
    "location" TEXT NOT NULL,
    "holder" UUID NOT NULL,
    "leaseUntil" TIMESTAMPTZ(3) NOT NULL,
    "currentAt" TIMESTAMPTZ(3),
    "pendingFiles" INTEGER NOT NULL DEFAULT 0,
    "error" TEXT,

    CONSTRAINT "ReleaseMirror_pkey" PRIMARY KEY ("location")
);

-- CreateTable
CREATE TABLE "Publisher" (
    "id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "repository" TEXT,
    "workflow" TEXT,
    "environment" TEXT,
    "ref" TEXT,
    "claims" JSONB NOT NULL DEFAULT '{}',
    "product" TEXT NOT NULL,
    "channel" TEXT,
    "repositoryId" TEXT,
    "ownerId" TEXT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL,
    "lastUsedAt" TIMESTAMPTZ(3),

    CONSTRAINT "Publisher_pkey" PRIMARY KEY ("id")
);

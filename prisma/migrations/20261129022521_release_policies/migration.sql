-- AlterTable
ALTER TABLE "ApiKey" ADD COLUMN     "createdBy" TEXT;

-- CreateTable
CREATE TABLE "ReleasePolicy" (
    "product" TEXT NOT NULL,
    "requirements" TEXT[],
    "approvals" INTEGER NOT NULL,
    "publicKeys" TEXT[],
    "nextRequirements" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "nextApprovals" INTEGER,
    "nextPublicKeys" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "nextAt" TIMESTAMPTZ(3),
    "revision" INTEGER NOT NULL DEFAULT 0,
    "since" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ReleasePolicy_pkey" PRIMARY KEY ("product")
);

-- CreateTable
CREATE TABLE "ReleaseAdmission" (
    "id" UUID NOT NULL,
    "product" TEXT NOT NULL,
    "build" TEXT NOT NULL,
    "files" TEXT[],
    "proofs" TEXT[],
    "publishedBy" TEXT[],
    "at" TIMESTAMPTZ(3) NOT NULL,
    "approvedBy" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "admittedAt" TIMESTAMPTZ(3),

    CONSTRAINT "ReleaseAdmission_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "ReleaseAdmission_product_build_idx" ON "ReleaseAdmission"("product", "build");

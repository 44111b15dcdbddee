-- CreateTable
CREATE TABLE "UpdateReportCount" (
    "day" DATE NOT NULL,
    "product" TEXT NOT NULL,
    "platform" TEXT NOT NULL,
    "architecture" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "from" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "reports" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "UpdateReportCount_pkey" PRIMARY KEY ("day","product","platform","architecture","version","outcome","from","code")
);

-- CreateTable
CREATE TABLE "RolloutSchedule" (
    "id" UUID NOT NULL,
    "product" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "platforms" TEXT[],
    "releaseIds" TEXT[],
    "catalogRollout" DOUBLE PRECISION NOT NULL,
    "steps" DOUBLE PRECISION[],
    "step" INTEGER NOT NULL DEFAULT 0,
    "everySeconds" INTEGER NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'running',
    "nextStepAt" TIMESTAMPTZ(3) NOT NULL,
    "observedAt" TIMESTAMPTZ(3) NOT NULL,
    "haltedAt" TIMESTAMPTZ(3),
    "haltReason" TEXT,
    "maxFailureShare" DOUBLE PRECISION NOT NULL,
    "minReports" INTEGER NOT NULL,
    "minAdoptionShare" DOUBLE PRECISION NOT NULL,
    "minOfferedClients" INTEGER NOT NULL,
    "reportsBefore" BIGINT NOT NULL DEFAULT 0,
    "failuresBefore" BIGINT NOT NULL DEFAULT 0,
    "countedFrom" DATE NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "RolloutSchedule_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "UpdateReportCount_product_version_idx" ON "UpdateReportCount"("product", "version");

-- CreateIndex
CREATE INDEX "RolloutSchedule_state_idx" ON "RolloutSchedule"("state");

-- CreateTable
CREATE TABLE "HourlyStatistic" (
    "metric" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "value" BIGINT NOT NULL,

    CONSTRAINT "HourlyStatistic_pkey" PRIMARY KEY ("metric","hour")
);

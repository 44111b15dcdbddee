import { AdoptionQuery, type AdoptionReport, readAdoption } from "../../../lib/admin/releases/adoption";
import { alignColumns } from "../../../lib/admin/releases/columns";
import { loadConfig } from "../../../lib/config";
import { UsageError } from "../../command-line";
import type { Command } from "../release/command";
import { parseOptions, text } from "../release/options";
import { createOutput } from "../release/output";
import { withDatabase } from "./with-database";

const OPTIONS = { product: text, days: text } as const;

/** `adoption`: who ran and downloaded which version. */
export const adoption: Command = async (args) => {
  const { product, days, json = false } = parseOptions(OPTIONS, args, false).values;
  const query = AdoptionQuery.safeParse({ product, days });
  if (!query.success) throw new UsageError("--days takes a number from 1 to 92.");
  if (process.env.HOMEPORT_URL)
    throw new UsageError("adoption reads the service's database: run it there, without HOMEPORT_URL.");
  const report = await withDatabase(loadConfig(), (db) => readAdoption({ db, now: () => new Date() }, query.data));
  if (report.versions.length === 0) console.error(`Nothing was counted from ${report.from} to ${report.to}.`);
  createOutput(json).result(report, report.versions.length > 0 ? [renderReport(report)] : []);
};

/** A client that runs several versions on a day counts once in the product's total. */
function renderReport({ products, versions }: AdoptionReport): string {
  const heading = [
    "DAY",
    "PRODUCT",
    "PLATFORM",
    "ARCH",
    "CHANNEL",
    "VERSION",
    "CLIENTS",
    "CHECKS",
    "OFFERED",
    "DOWNLOADS",
  ];
  const rows = products.flatMap((total) => [
    ...versions
      .filter(({ day, product }) => day === total.day && product === total.product)
      .map((row) => [
        ...[row.day, row.product, row.platform, row.architecture, row.channel, row.version],
        ...[row.clients, row.checks, row.offeredClients].map(String),
        `${row.downloadsFinished}/${row.downloadsStarted}`,
      ]),
    [
      ...[total.day, total.product, "all", "", "", ""],
      ...[String(total.clients), String(total.checks), ""],
      `${total.downloadsFinished}/${total.downloadsStarted}`,
    ],
  ]);
  return alignColumns([heading, ...rows]);
}

import { AdoptionQuery } from "../../../lib/releases/adoption/report";
import { alignColumns } from "../../../lib/releases/publishing/list";
import { UsageError } from "../../command-line";
import type { ResultOf } from "../transport/operations";
import type { ReleaseCommand } from "./define-release-command";

export const ADOPTION_OPTIONS = {
  product: { value: "name", help: "one product (default: all)" },
  days: { value: "count", help: "number of UTC days up to today (default: 7)" },
} as const;

/** `adoption`: who ran and downloaded which version. */
export const adoption: ReleaseCommand<typeof ADOPTION_OPTIONS> = async ({ api, output }, { product, days }) => {
  if (!AdoptionQuery.safeParse({ product, days }).success) throw new UsageError("--days takes a number from 1 to 92.");
  const report = await api.call("getAdoption", { query: { product, days } });
  if (report.versions.length === 0) console.error(`Nothing was counted from ${report.from} to ${report.to}.`);
  output.result(report, report.versions.length > 0 ? [renderReport(report)] : []);
};

/** A client that runs several versions on a day counts once in the product's total. */
function renderReport({ products, versions }: ResultOf<"getAdoption">): string {
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
        row.day,
        row.product,
        row.platform,
        row.architecture,
        row.channel,
        row.version,
        String(row.clients),
        String(row.checks),
        String(row.offeredClients),
        `${row.downloadsFinished}/${row.downloadsStarted}`,
      ]),
    [
      total.day,
      total.product,
      "all",
      "",
      "",
      "",
      String(total.clients),
      String(total.checks),
      "",
      `${total.downloadsFinished}/${total.downloadsStarted}`,
    ],
  ]);
  return alignColumns([heading, ...rows]);
}

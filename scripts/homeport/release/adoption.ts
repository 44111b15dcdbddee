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

type Report = ResultOf<"getAdoption">;

const HEADING = "DAY PRODUCT PLATFORM ARCH CHANNEL VERSION CLIENTS CHECKS OFFERED DOWNLOADS".split(" ");

/** A client that runs several versions on a day counts once in the product's total. */
function renderReport({ products, versions }: Report): string {
  const rows = products.flatMap((total) => {
    const own = versions.filter(({ day, product }) => day === total.day && product === total.product);
    return [...own.map(versionRow), totalRow(total)];
  });
  return alignColumns([HEADING, ...rows]);
}

function versionRow(row: Report["versions"][number]): string[] {
  const { day, product, platform, architecture, channel, version, clients, checks, offeredClients } = row;
  const counts = [clients, checks, offeredClients].map(String);
  return [day, product, platform, architecture, channel, version, ...counts, downloadsOf(row)];
}

function totalRow(row: Report["products"][number]): string[] {
  return [row.day, row.product, "all", "", "", "", String(row.clients), String(row.checks), "", downloadsOf(row)];
}

const downloadsOf = (row: { downloadsFinished: number; downloadsStarted: number }) =>
  `${row.downloadsFinished}/${row.downloadsStarted}`;

import type { AdoptionCurve } from "@/lib/releases/adoption/report";
import { LineChart } from "../components/chart";
import { EmptyState } from "../components/states";

/** Lines that can be told apart. */
export const MAX_LINES = 4;

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** How many clients ran each of the most used versions, day by day. */
export function AdoptionChart({ curve: { days, versions } }: { curve: AdoptionCurve }) {
  if (versions.length === 0) {
    return (
      <EmptyState title="No update checks were counted">
        Clients are counted when their updater checks for updates and sends its version.
      </EmptyState>
    );
  }
  const nameOf = (version: string) => (version === "unknown" ? "No version sent" : version);
  const shown = versions
    .slice(0, MAX_LINES)
    .map(({ version, clients }) => ({ name: nameOf(version), values: clients }));
  return (
    <div className="release-chart">
      <LineChart title="Clients by version" labels={days.map((day) => DAY.format(new Date(day)))} series={shown} />
    </div>
  );
}

import type { AdoptionCurve } from "@/lib/releases/adoption/report";
import { LineChart } from "../components/chart";
import { formatDay } from "../components/format-numbers";
import { EmptyState } from "../components/states";

/** Lines that can be told apart. */
export const MAX_LINES = 4;

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
  const shown = versions.map(({ version, clients }) => ({ name: nameOf(version), values: clients }));
  return (
    <div className="release-chart">
      <LineChart title="Clients by version" labels={days.map((day) => formatDay(new Date(day)))} series={shown} />
    </div>
  );
}

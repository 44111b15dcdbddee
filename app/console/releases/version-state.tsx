import type { CatalogVersion } from "@/lib/releases/publishing/list-versions";
import { Badge } from "../components/badge";

type Version = Pick<CatalogVersion, "releases" | "schedule">;

/** What clients get of a version, in a word: its platforms may differ. */
export function VersionState({ version: { releases, schedule } }: { version: Version }) {
  const served = releases.filter(({ yanked }) => !yanked);
  if (served.length === 0) return <Badge tone="bad">Yanked</Badge>;
  if (served.every(({ sample }) => sample)) return <Badge>Sample</Badge>;
  if (schedule?.state === "halted") return <Badge tone="bad">Halted</Badge>;
  if (schedule?.state === "scheduled") return <Badge tone="warning">Scheduled</Badge>;
  const percentages = served.map((release) => release.served);
  const [least, most] = [Math.min(...percentages), Math.max(...percentages)];
  if (most === 0) return <Badge tone="warning">Paused</Badge>;
  if (least === 100) return <Badge tone="good">Everyone</Badge>;
  return <Badge tone="active">{least === most ? `${most}%` : `${least}–${most}%`}</Badge>;
}

/** What else is special about a version. */
export function VersionMarks({ version: { releases } }: { version: Version }) {
  const marks = [
    releases.some(({ critical }) => critical) && "Critical",
    releases.some(({ rollback }) => rollback) && "Rollback",
    releases.some(({ yanked }) => yanked) && releases.some(({ yanked }) => !yanked) && "Partly yanked",
  ];
  return marks.map((mark) => mark && <Badge key={mark}>{mark}</Badge>);
}

const PLATFORMS: Readonly<Record<string, string>> = { windows: "Windows", macos: "macOS", linux: "Linux" };

/** "Windows x64". */
export function targetName({ platform, architecture }: { platform: string; architecture: string }): string {
  return `${PLATFORMS[platform] ?? platform} ${architecture}`;
}

import type { Context } from "@/lib/context";
import { catalogFileOf } from "@/lib/releases/catalog/catalog";
import type { CatalogVersion } from "@/lib/releases/publishing/list-versions";
import { UPDATER_NAMES } from "@/lib/releases/schema";
import { Notice } from "../../(web)/components/notice";
import { Badge } from "../components/cells";

type Version = Pick<CatalogVersion, "releases" | "schedule">;

/** The state of a version, and what else is special about it. */
export function VersionBadges({ version }: { version: Version }) {
  return (
    <span className="badges">
      <VersionState version={version} /> <VersionMarks version={version} />
    </span>
  );
}

/** What clients get of a version, in a word: its platforms may differ. */
function VersionState({ version: { releases, schedule } }: { version: Version }) {
  const served = releases.filter(({ yanked }) => !yanked);
  if (served.length === 0) return <Badge tone="bad">Yanked</Badge>;
  if (served.every(({ sample }) => sample)) return <Badge>Sample</Badge>;
  if (served.some(({ admission }) => admission === "refused")) return <Badge tone="bad">Not admitted</Badge>;
  if (served.some(({ admission }) => admission === "pending")) return <Badge tone="warning">Waits for approval</Badge>;
  if (schedule?.state === "halted") return <Badge tone="bad">Halted</Badge>;
  if (schedule?.state === "scheduled") return <Badge tone="warning">Scheduled</Badge>;
  const percentages = served.map((release) => release.served);
  const [least, most] = [Math.min(...percentages), Math.max(...percentages)];
  if (most === 0) return <Badge tone="warning">Paused</Badge>;
  if (least === 100) return <Badge tone="good">Everyone</Badge>;
  return <Badge tone="active">{least === most ? `${most}%` : `${least}–${most}%`}</Badge>;
}

/** What else is special about a version. */
function VersionMarks({ version: { releases } }: { version: Version }) {
  const marks = [
    ...new Set(
      releases.flatMap(({ withheldFrom = [] }) => withheldFrom).map((one) => `Withheld from ${UPDATER_NAMES[one]}`),
    ),
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

/** Says that the catalog cannot be changed here, if it is at a URL. */
export function ReadOnlyNotice({ config }: Pick<Context, "config">) {
  if (catalogFileOf(config) !== null) return null;
  return (
    <Notice>
      The release catalog is at a URL, so it cannot be changed here: publish a new one there. Rollouts that are under
      way can be halted and resumed.
    </Notice>
  );
}

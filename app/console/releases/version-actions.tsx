import type { CatalogVersion } from "@/lib/releases/publishing/list-versions";
import type { ReleaseAction } from "@/lib/releases/publishing/release-action";
import { ButtonLink } from "../components/action";

type Version = CatalogVersion & { older: string[]; channels: string[] };

/** What can be done with a version. Each link leads to a page that says what would happen. */
export function VersionActions({ version }: { version: Version }) {
  const { releases, channel, channels, older } = version;
  const isYanked = releases.every(({ yanked }) => yanked);
  const isCritical = releases.every(({ critical }) => critical);
  const [previous] = older;
  return (
    <>
      {!isYanked && previous !== undefined && (
        <ButtonLink href={actionPath({ ...version, version: previous }, "rollback")}>
          Roll back to {previous}
        </ButtonLink>
      )}
      {!isYanked &&
        channels
          .filter((name) => name !== channel)
          .map((to) => (
            <ButtonLink key={to} href={actionPath(version, "promote", { to, percentage: "100" })}>
              Offer on {to}
            </ButtonLink>
          ))}
      <ButtonLink href={actionPath(version, isCritical ? "not_critical" : "critical")}>
        {isCritical ? "No longer critical" : "Mark as critical"}
      </ButtonLink>
      <a
        className={isYanked ? "button quiet" : "button quiet danger"}
        href={actionPath(version, isYanked ? "restore" : "yank")}
      >
        {isYanked ? "Offer again" : "Yank"}
      </a>
    </>
  );
}

/** The page that shows what an action would do, before it is confirmed. */
export function actionPath(
  { product, channel, version }: Pick<CatalogVersion, "product" | "channel" | "version">,
  action: ReleaseAction["action"],
  fields: Record<string, string> = {},
): string {
  return `/console/releases/change?${new URLSearchParams({ action, product, channel, version, ...fields })}`;
}

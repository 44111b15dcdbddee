import { headers } from "next/headers";
import { pageContext } from "@/lib/http/pages/visitor";
import { type InstallerGroup, listInstallers } from "@/lib/releases/installers";
import { Notice } from "../components/notice";
import { platformFromUserAgent } from "./platform";
import { Product } from "./product";

export const metadata = { title: "Download" };

export default async function Page() {
  const groups = listInstallers(pageContext());
  const platform = platformFromUserAgent((await headers()).get("user-agent") ?? "");
  const matching = groups?.filter((group) => group.platform === platform) ?? [];
  const others = groups?.filter((group) => !matching.includes(group)) ?? [];
  return (
    <>
      <h1>Download</h1>
      {!groups && <Notice kind="error">The release catalog is not available. Try again in a minute.</Notice>}
      {groups?.some(({ latest, others }) => [latest, ...others].some((installer) => installer?.isSample)) && (
        <p className="lead">
          These are sample files that install nothing. They are replaced by the first release you publish.
        </p>
      )}
      {groups?.length === 0 && <p className="lead">No releases have been published yet.</p>}
      {platform && <Products title={`For ${PLATFORMS[platform]}`} groups={matching} />}
      <Products title={matching.length > 0 ? "Other platforms" : "All installers"} groups={others} />
    </>
  );
}

const PLATFORMS: Record<InstallerGroup["platform"], string> = {
  windows: "Windows",
  macos: "macOS",
  linux: "Linux",
};

function Products({ title, groups }: { title: string; groups: InstallerGroup[] }) {
  if (groups.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      {groups.map((group) => (
        <Product
          key={`${group.product} ${group.platform} ${group.architecture}`}
          group={group}
          platform={PLATFORMS[group.platform]}
        />
      ))}
    </>
  );
}

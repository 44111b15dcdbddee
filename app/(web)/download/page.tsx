import { headers } from "next/headers";
import { pageContext } from "@/lib/http/pages/visitor";
import { type InstallerGroup, listInstallers } from "@/lib/releases/installers";
import { Notice } from "../components/notice";
import { textsOf, titleOf } from "../language/page-language";
import { isPhone, PLATFORM_NAMES, platformFromUserAgent } from "./platform";
import { Product } from "./product";
import { DOWNLOAD } from "./texts";

export const generateMetadata = titleOf(DOWNLOAD, { isPublic: true });

export default async function Page() {
  const texts = await textsOf(DOWNLOAD);
  const groups = listInstallers(pageContext());
  const userAgent = (await headers()).get("user-agent") ?? "";
  const platform = platformFromUserAgent(userAgent);
  const matching = groups?.filter((group) => group.platform === platform) ?? [];
  const others = groups?.filter((group) => !matching.includes(group)) ?? [];
  return (
    <>
      <h1>{texts.title}</h1>
      {!groups && <Notice kind="error">{texts.unavailable}</Notice>}
      {groups?.some(({ latest, others }) => [latest, ...others].some((installer) => installer?.isSample)) && (
        <p className="lead">{texts.sample}</p>
      )}
      {groups?.length === 0 && <p className="lead">{texts.none}</p>}
      {groups && groups.length > 0 && isPhone(userAgent) && <Notice>{texts.phone}</Notice>}
      {platform && <Products title={texts.forPlatform(PLATFORM_NAMES[platform])} groups={matching} isMain />}
      <Products title={matching.length > 0 ? texts.otherPlatforms : texts.all} groups={others} />
    </>
  );
}

/** One button of each product stands out: the first one for the visitor's platform. */
function Products({ title, groups, isMain = false }: { title: string; groups: InstallerGroup[]; isMain?: boolean }) {
  if (groups.length === 0) return null;
  const isFirst = (group: InstallerGroup) => groups.find(({ product }) => product === group.product) === group;
  return (
    <>
      <h2>{title}</h2>
      {groups.map((group) => (
        <Product
          key={`${group.product} ${group.platform} ${group.architecture}`}
          group={group}
          isMain={isMain && isFirst(group)}
        />
      ))}
    </>
  );
}

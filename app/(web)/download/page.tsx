import { headers } from "next/headers";
import { pageContext } from "@/lib/auth/visitor";
import { type InstallerGroup, listInstallers } from "@/lib/releases/installers";
import { Notice } from "../components/notice";
import { textsOf, titleOf } from "../language/page-language";
import { type Computer, computerOf, isPhone, offeredTo, PLATFORM_NAMES } from "./platform";
import { Product } from "./product";
import { DOWNLOAD } from "./texts";

export const generateMetadata = titleOf(DOWNLOAD, { isPublic: true });

export default async function Page() {
  const texts = await textsOf(DOWNLOAD);
  const groups = listInstallers(pageContext());
  const given = await headers();
  const computer = computerOf(given);
  const matching = groups?.filter(({ platform }) => platform === computer?.platform) ?? [];
  const others = groups?.filter((group) => !matching.includes(group)) ?? [];
  return (
    <>
      <h1>{texts.title}</h1>
      {!groups && <Notice kind="error">{texts.unavailable}</Notice>}
      {groups?.some(({ latest, others }) => [latest, ...others].some((installer) => installer?.isSample)) && (
        <p className="lead">{texts.sample}</p>
      )}
      {groups?.length === 0 && <p className="lead">{texts.none}</p>}
      {groups && groups.length > 0 && isPhone(given.get("user-agent") ?? "") && <Notice>{texts.phone}</Notice>}
      {computer && (
        <Products title={texts.forPlatform(PLATFORM_NAMES[computer.platform])} groups={matching} computer={computer} />
      )}
      <Products title={matching.length > 0 ? texts.otherPlatforms : texts.all} groups={others} />
    </>
  );
}

type ProductsProps = { title: string; groups: InstallerGroup[]; computer?: Computer };

/** One button of each product stands out and is first: the one that runs best on the visitor's computer. */
function Products({ title, groups, computer }: ProductsProps) {
  if (groups.length === 0) return null;
  const isMain = (group: InstallerGroup) => {
    const offered = offeredTo(
      computer ?? null,
      groups.filter(({ product }) => product === group.product),
    );
    return offered.isSure && offered.groups.includes(group);
  };
  const byProduct = [...new Set(groups.map(({ product }) => product))].flatMap((product) =>
    groups.filter((group) => group.product === product).toSorted((a, b) => Number(isMain(b)) - Number(isMain(a))),
  );
  return (
    <>
      <h2>{title}</h2>
      {byProduct.map((group) => (
        <Product
          key={`${group.product} ${group.platform} ${group.architecture}`}
          group={group}
          isMain={isMain(group)}
        />
      ))}
    </>
  );
}

import { headers } from "next/headers";
import { pageContext } from "@/lib/http/pages/visitor";
import { listInstallers, type Shelf } from "@/lib/releases/installers";
import { Notice } from "../components/notice";
import { platformFromUserAgent } from "./platform";
import { Product } from "./product";

export const metadata = { title: "Download" };

export default async function Page() {
  const shelves = listInstallers(pageContext());
  const platform = platformFromUserAgent((await headers()).get("user-agent") ?? "");
  const fitting = shelves?.filter((shelf) => shelf.platform === platform) ?? [];
  const others = shelves?.filter((shelf) => !fitting.includes(shelf)) ?? [];
  return (
    <>
      <h1>Download</h1>
      {!shelves && <Notice kind="error">The release catalog is not available. Try again in a minute.</Notice>}
      {shelves?.some(({ newest, others }) => [newest, ...others].some((installer) => installer?.isSample)) && (
        <p className="lead">
          These are sample files that install nothing. They are replaced by the first release you publish.
        </p>
      )}
      {shelves?.length === 0 && <p className="lead">No releases have been published yet.</p>}
      {platform && <Products title={`For ${PLATFORMS[platform]}`} shelves={fitting} />}
      <Products title={fitting.length > 0 ? "Other platforms" : "All installers"} shelves={others} />
    </>
  );
}

const PLATFORMS: Record<Shelf["platform"], string> = { windows: "Windows", macos: "macOS" };

function Products({ title, shelves }: { title: string; shelves: Shelf[] }) {
  if (shelves.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      {shelves.map((shelf) => (
        <Product
          key={`${shelf.product} ${shelf.platform} ${shelf.architecture}`}
          shelf={shelf}
          platform={PLATFORMS[shelf.platform]}
        />
      ))}
    </>
  );
}

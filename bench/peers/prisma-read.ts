// node:http and one query through Homeport's Prisma client for the purchases of the account in the path.
import { createServer } from "node:http";
import { PrismaClient } from "../../lib/platform/db/generated/client";
import { postgresAdapter } from "../../lib/platform/db/server/adapter";

const { DATABASE_URL = "", PORT } = process.env;
const POOL_SIZE = 10;

const adapter = postgresAdapter(DATABASE_URL, POOL_SIZE, console.error);
const prisma = new PrismaClient({ adapter });

createServer(async (request, response) => {
  if (request.url === "/ready") return response.end();
  const purchases = await prisma.purchase.findMany({ where: { accountId: request.url?.slice(1) } });
  const body = JSON.stringify({ purchases });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}).listen(Number(PORT), "127.0.0.1");

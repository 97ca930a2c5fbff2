// A small service for Assay's requests, as one would write it with Express and PostgreSQL. It has a process for each core,
// a pool of connections, prepared statements, an index that contains the values, and compression as its package does it.
//
// PORT is the port on loopback; the variables of PostgreSQL (PGHOST, PGDATABASE…) say where the values are.

import cluster from 'node:cluster';
import os from 'node:os';

import compression from 'compression';
import express from 'express';
import pg from 'pg';

const latest = {
  name: 'latest',
  text: `SELECT at, value FROM index_values WHERE gpu = $1 AND granularity = 'hourly' ORDER BY at DESC LIMIT 1`,
};
const history = {
  name: 'history',
  text: `SELECT at AS timestamp, value AS index_value FROM index_values
    WHERE gpu = $1 AND granularity = $2 AND at >= $3 ORDER BY at`,
};

function serve() {
  const pool = new pg.Pool();
  const app = express();
  app.use(compression());

  app.get('/api/gpu/:gpu', async (request, response) => {
    const { rows } = await pool.query({ ...latest, values: [request.params.gpu] });
    if (rows.length === 0) {
      response.status(404).json({ success: false });
      return;
    }
    response.json({
      success: true,
      access: 'full',
      data: { gpu_name: request.params.gpu, region: '', index_value: rows[0].value, last_updated: rows[0].at },
    });
  });

  app.get('/api/gpu/:gpu/index-history', async (request, response) => {
    const { granularity = 'daily', startDate = '-infinity' } = request.query;
    const { rows } = await pool.query({ ...history, values: [request.params.gpu, granularity, startDate] });
    response.json({
      success: true,
      gpu_type: request.params.gpu,
      region: 'global',
      access: 'full',
      granularity,
      count: rows.length,
      has_more: false,
      data: rows,
    });
  });

  app.listen(Number(process.env.PORT), '127.0.0.1');
}

if (cluster.isPrimary) {
  for (let i = 0; i < os.availableParallelism(); i++) {
    cluster.fork();
  }
  // A service with fewer processes than it should have would be measured as if it had all of them.
  cluster.on('exit', (worker) => process.exit(worker.process.exitCode || 1));
} else {
  serve();
}

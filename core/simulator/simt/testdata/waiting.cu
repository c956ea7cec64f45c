// Kernels in which blocks, warps or lanes wait for each other, and end. waiting_test.go says how each is launched and what it leaves in
// out[0]. waiting.ptx is made of this file by: nvcc --ptx -arch=sm_80 -lineinfo waiting.cu
#define KERNEL extern "C" __global__ void

__device__ void arrive(int *p) { __threadfence(); atomicAdd(p, 1); }
__device__ bool first() { return threadIdx.x == 0; }

KERNEL barrier_atomic(int *flag, int *out, int n) {
    for (int r = 0; r < n; r++) {
        if (first()) { arrive(flag + r); while (atomicAdd(flag + r, 0) < gridDim.x); }
        __syncthreads();
    }
    if (first()) atomicAdd(out, 1);
}

KERNEL barrier_volatile(int *flag, int *out, int n) {
    for (int r = 0; r < n; r++) {
        if (first()) { arrive(flag + r); while (*(volatile int *)(flag + r) < gridDim.x); }
        __syncthreads();
    }
    if (first()) atomicAdd(out, 1);
}

KERNEL barrier_sense(int *flag, int *out, int n) {
    int sense = 0;
    for (int r = 0; r < n; r++) {
        sense ^= 1;
        if (first()) {
            if (atomicAdd(flag, 1) == gridDim.x - 1) { *flag = 0; __threadfence(); atomicExch(flag + 1, sense); }
            else while (atomicAdd(flag + 1, 0) != sense);
        }
        __syncthreads();
    }
    if (first()) atomicAdd(out, 1);
}

KERNEL barrier_all_threads(int *flag, int *out, int n) {
    for (int r = 0; r < n; r++) {
        arrive(flag + r);
        while (*(volatile int *)(flag + r) < gridDim.x * blockDim.x);
    }
    atomicAdd(out, 1);
}

KERNEL lock_cas(int *flag, int *out, int n) {
    if (!first()) return;
    for (int r = 0; r < n; r++) {
        while (atomicCAS(flag, 0, 1) != 0);
        *(volatile int *)out = *(volatile int *)out + 1;
        __threadfence();
        atomicExch(flag, 0);
    }
}

KERNEL lock_backoff(int *flag, int *out, int n) {
    if (!first()) return;
    for (int r = 0; r < n; r++) {
        unsigned wait = 8;
        while (atomicExch(flag, 1) != 0) { __nanosleep(wait); if (wait < 256) wait *= 2; }
        *(volatile int *)out = *(volatile int *)out + 1;
        __threadfence();
        atomicExch(flag, 0);
    }
}

KERNEL lock_ticket(int *flag, int *out, int n) {
    if (!first()) return;
    for (int r = 0; r < n; r++) {
        int ticket = atomicAdd(flag, 1);
        while (*(volatile int *)(flag + 1) != ticket);
        *(volatile int *)out = *(volatile int *)out + 1;
        __threadfence();
        atomicAdd(flag + 1, 1);
    }
}

KERNEL lock_lanes(int *flag, int *out, int n) {
    bool done = false;
    while (!done) {
        if (atomicCAS(flag, 0, 1) == 0) {
            *(volatile int *)out = *(volatile int *)out + 1;
            __threadfence();
            atomicExch(flag, 0);
            done = true;
        }
    }
}

KERNEL semaphore(int *flag, int *out, int n) {
    if (!first()) return;
    if (atomicCAS(flag + 1, 0, 1) == 0) { atomicAdd(flag, 4); atomicExch(flag + 2, 1); }
    while (atomicAdd(flag + 2, 0) == 0);
    for (int r = 0; r < n; r++) {
        for (;;) {
            int free = *(volatile int *)flag;
            if (free > 0 && atomicCAS(flag, free, free - 1) == free) break;
        }
        atomicAdd(out, 1);
        __threadfence();
        atomicAdd(flag, 1);
    }
}

KERNEL look_back_volatile(int *flag, int *out, int n) {
    if (!first()) return;
    int mine = blockIdx.x + 1, before = 0;
    if (blockIdx.x > 0) { *(volatile int *)(out + 512 + blockIdx.x) = mine; __threadfence(); *(volatile int *)(flag + blockIdx.x) = 1; }
    for (int at = (int)blockIdx.x - 1; at >= 0; at--) {
        int state;
        while ((state = *(volatile int *)(flag + at)) == 0);
        __threadfence();
        if (state == 2) { before += *(volatile int *)(out + 1 + at); break; }
        before += *(volatile int *)(out + 512 + at);
    }
    *(volatile int *)(out + 1 + blockIdx.x) = before + mine;
    __threadfence();
    *(volatile int *)(flag + blockIdx.x) = 2;
    if (blockIdx.x == gridDim.x - 1) out[0] = before + mine;
}

KERNEL look_back_atomic(int *flag, int *out, int n) {
    if (!first()) return;
    int mine = blockIdx.x + 1, before = 0;
    atomicExch(flag + blockIdx.x, blockIdx.x == 0 ? mine << 2 | 2 : mine << 2 | 1);
    for (int at = (int)blockIdx.x - 1; at >= 0; at--) {
        int state;
        do state = atomicAdd(flag + at, 0); while (state == 0);
        before += state >> 2;
        if ((state & 3) == 2) break;
    }
    atomicExch(flag + blockIdx.x, (before + mine) << 2 | 2);
    if (blockIdx.x == gridDim.x - 1) out[0] = before + mine;
}

KERNEL scan_of_tickets(int *flag, int *out, int n) {
    __shared__ int ticket;
    if (first()) ticket = atomicAdd(flag, 1);
    __syncthreads();
    if (first()) {
        int before = 0;
        if (ticket > 0) while ((before = atomicAdd(flag + ticket, 0)) == 0);
        atomicExch(flag + 1 + ticket, before + ticket + 1);
        if (ticket == gridDim.x - 1) out[0] = before + ticket + 1;
    }
}

KERNEL turnstile(int *flag, int *out, int n) {
    for (int r = 0; r < n; r++) {
        if (first()) while (atomicAdd(flag, 0) != r * gridDim.x + blockIdx.x);
        __syncthreads();
        if (first()) *(volatile int *)out = *(volatile int *)out * 3 + (int)blockIdx.x;
        __threadfence();
        __syncthreads();
        if (first()) atomicAdd(flag, 1);
    }
}

KERNEL split_k(int *flag, int *out, int n) {
    // blocks of one tile leave partial sums; the first of them waits for all others
    int tile = blockIdx.x / n, part = blockIdx.x % n;
    out[64 + blockIdx.x * 32 + threadIdx.x] = part + threadIdx.x;
    __threadfence();
    __syncthreads();
    if (part != 0) { if (first()) atomicAdd(flag + tile, 1); return; }
    if (first()) while (*(volatile int *)(flag + tile) != n - 1);
    __syncthreads();
    int sum = 0;
    for (int p = 0; p < n; p++) sum += ((volatile int *)out)[64 + (blockIdx.x + p) * 32 + threadIdx.x];
    atomicAdd(out, sum);
}

KERNEL ring(int *flag, int *out, int n) {
    // block 0 produces, block 1 consumes, with room for four
    if (!first() || blockIdx.x > 1) return;
    for (int i = 0; i < n; i++) {
        if (blockIdx.x == 0) {
            while (i - *(volatile int *)(flag + 1) >= 4);
            *(volatile int *)(flag + 8 + i % 4) = i;
            __threadfence();
            atomicExch(flag, i + 1);
        } else {
            while (*(volatile int *)flag <= i);
            out[0] += *(volatile int *)(flag + 8 + i % 4);
            __threadfence();
            atomicExch(flag + 1, i + 1);
        }
    }
}

KERNEL shared_flag(int *flag, int *out, int n) {
    __shared__ volatile int ready, value;
    if (first()) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        if (first()) { value = n; __threadfence_block(); ready = 1; }
    } else {
        while (ready == 0);
        __threadfence_block();
        atomicAdd(out, value);
    }
}

KERNEL ping_pong(int *flag, int *out, int n) {
    __shared__ volatile int turn;
    if (first()) turn = 0;
    __syncthreads();
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0 && warp < 2)
        for (int r = 0; r < n; r++) {
            while (turn != warp);
            *(volatile int *)out = *(volatile int *)out * 3 + warp + r;
            __threadfence();
            turn = 1 - warp;
        }
}

KERNEL two_locks(int *flag, int *out, int n) {
    // takes one lock, tries the other, and lets go of both if it fails
    if (!first()) return;
    int *a = flag + (blockIdx.x & 1), *b = flag + 1 - (blockIdx.x & 1);
    for (int r = 0; r < n; r++) {
        for (;;) {
            while (atomicCAS(a, 0, 1) != 0);
            if (atomicCAS(b, 0, 1) == 0) break;
            atomicExch(a, 0);
        }
        *(volatile int *)out = *(volatile int *)out + 1;
        __threadfence();
        atomicExch(a, 0);
        atomicExch(b, 0);
    }
}

KERNEL readers_writers(int *flag, int *out, int n) {
    if (!first()) return;
    for (int r = 0; r < n; r++) {
        if (blockIdx.x % 4 == 0) {
            while (atomicCAS(flag, 0, -1) != 0);
            *(volatile int *)out = *(volatile int *)out + 1;
            __threadfence();
            atomicExch(flag, 0);
        } else {
            for (;;) {
                int readers = atomicAdd(flag, 0);
                if (readers >= 0 && atomicCAS(flag, readers, readers + 1) == readers) break;
            }
            if (*(volatile int *)out < 0) out[1] = 1;
            atomicSub(flag, 1);
        }
    }
}

KERNEL counted_spins(int *flag, int *out, int n) {
    // counts how often it looked, and gives up after far more than that
    if (!first()) return;
    int spins = 0;
    if (blockIdx.x < gridDim.x - 1) while (*(volatile int *)(flag + blockIdx.x + 1) == 0 && spins < 10000000) spins++;
    out[1 + blockIdx.x] = spins;
    if (spins < 10000000) atomicAdd(out, 1);
    __threadfence();
    atomicExch(flag + blockIdx.x, 1);
}

// Kernels in which blocks, warps or lanes wait for what never comes. The line at which each does is marked; hanging_test.go says how
// each is launched and what must be said of it. hanging.ptx is made of this file by: nvcc --ptx -arch=sm_80 -lineinfo hanging.cu
#define KERNEL extern "C" __global__ void

__device__ bool first() { return threadIdx.x == 0; }

KERNEL missing_arrival(int *flag, int *out, int n) {
    if (first()) {
        if (blockIdx.x == 5) return;
        atomicAdd(flag + 3, 1);
        while (atomicAdd(flag + 3, 0) < gridDim.x); // waits: missing_arrival
        out[0] = 1;
    }
}

KERNEL wrong_counter(int *flag, int *out, int n) {
    if (first()) {
        atomicAdd(flag, 1);
        while (*(volatile int *)flag != gridDim.x + 1); // waits: wrong_counter
        out[0] = 1;
    }
}

KERNEL lock_never_released(int *flag, int *out, int n) {
    if (!first()) return;
    while (atomicCAS(flag + 7, 0, 1) != 0); // waits: lock_never_released
    out[0]++;
    if (blockIdx.x == 3) return;
    __threadfence();
    atomicExch(flag + 7, 0);
}

KERNEL barrier_by_a_part(int *flag, int *out, int n) {
    __shared__ volatile int ready;
    if (first()) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        __syncthreads();
        ready = 1;
    } else {
        while (ready == 0); // waits: barrier_by_a_part
    }
    out[threadIdx.x] = ready;
}

KERNEL opposite_order(int *flag, int *out, int n) {
    if (!first()) return;
    int *a = flag + (blockIdx.x & 1), *b = flag + 1 - (blockIdx.x & 1);
    while (atomicCAS(a, 0, 1) != 0);
    atomicAdd(flag + 8, 1);
    while (atomicAdd(flag + 8, 0) < 2);
    while (atomicCAS(b, 0, 1) != 0); // waits: opposite_order
    out[0]++;
    atomicExch(a, 0);
    atomicExch(b, 0);
}

KERNEL semaphore_leaks(int *flag, int *out, int n) {
    if (!first()) return;
    if (blockIdx.x == 0) atomicExch(flag + 2, 3);
    for (;;) {
        int free = *(volatile int *)(flag + 2); // waits: semaphore_leaks
        if (free > 0 && atomicCAS(flag + 2, free, free - 1) == free) break;
    }
    out[blockIdx.x] = 1;
}

KERNEL look_back_without_first(int *flag, int *out, int n) {
    if (!first() || blockIdx.x == 0) return;
    int before;
    while ((before = *(volatile int *)(flag + blockIdx.x - 1)) == 0); // waits: look_back_without_first
    atomicExch(flag + blockIdx.x, before + 1);
}

KERNEL look_back_wrong_mark(int *flag, int *out, int n) {
    if (!first()) return;
    if (blockIdx.x > 0) while (atomicAdd(flag + blockIdx.x - 1, 0) != 2); // waits: look_back_wrong_mark
    atomicExch(flag + blockIdx.x, blockIdx.x == 2 ? 1 : 2);
}

KERNEL turnstile_from_one(int *flag, int *out, int n) {
    if (first()) while (atomicAdd(flag + 9, 0) != blockIdx.x + 1); // waits: turnstile_from_one
    __syncthreads();
    if (first()) atomicAdd(flag + 9, 1);
}

KERNEL ring_without_consumer(int *flag, int *out, int n) {
    if (!first()) return;
    if (blockIdx.x == 0) {
        for (int i = 0; i < n; i++) {
            while (i - *(volatile int *)(flag + 1) >= 4); // waits: ring_without_consumer
            atomicExch(flag, i + 1);
        }
    } else if (blockIdx.x == 1) {
        for (int i = 0; i < n / 2; i++) {
            while (*(volatile int *)flag <= i);
            atomicExch(flag + 1, i + 1);
        }
    }
}

KERNEL ticket_not_passed_on(int *flag, int *out, int n) {
    if (!first()) return;
    int ticket = atomicAdd(flag, 1);
    while (*(volatile int *)(flag + 1) != ticket); // waits: ticket_not_passed_on
    if (ticket == 4) { out[0] = 1; return; }
    atomicAdd(flag + 1, 1);
}

KERNEL lanes_of_a_warp(int *flag, int *out, int n) {
    if (threadIdx.x == 1) { while (*(volatile int *)(flag + 4) == 0); } // waits: lanes_of_a_warp
    else if (threadIdx.x == 0) *(volatile int *)(flag + 5) = 1;
    __syncwarp();
    *(volatile int *)(flag + 4) = 1;
}

KERNEL shared_flag_unset(int *flag, int *out, int n) {
    __shared__ volatile int ready[4];
    if (threadIdx.x < 4) ready[threadIdx.x] = 0;
    __syncthreads();
    if (first()) ready[1] = 1;
    while (ready[2] == 0); // waits: shared_flag_unset
    out[threadIdx.x] = 1;
}

KERNEL lock_taken_twice(int *flag, int *out, int n) {
    if (!first()) return;
    while (atomicExch(flag, 1) != 0); // waits: lock_taken_twice
    out[0]++;
    while (atomicExch(flag, 1) != 0); // waits: lock_taken_twice
    atomicExch(flag, 0);
}

KERNEL more_blocks_than_fit(int *flag, int *out, int n) {
    if (first()) {
        atomicAdd(flag, 1);
        while (*(volatile int *)flag < gridDim.x); // waits: more_blocks_than_fit
    }
    __syncthreads();
    out[0] = 1;
}

KERNEL wrong_element(int *flag, int *out, int n) {
    if (!first()) return;
    if (blockIdx.x == 0) { atomicExch(flag + 16, 1); return; }
    while (*(volatile int *)(flag + 17) == 0); // waits: wrong_element
    out[blockIdx.x] = 1;
}

KERNEL not_volatile(int *flag, int *out, int n) {
    if (!first()) return;
    if (blockIdx.x == 0) { flag[0] = 1; return; }
    while (flag[1] == 0); // waits: not_volatile
    out[blockIdx.x] = 1;
}

KERNEL circle_of_three(int *flag, int *out, int n) {
    if (!first()) return;
    while (*(volatile int *)(flag + (blockIdx.x + 1) % 3) == 0); // waits: circle_of_three
    atomicExch(flag + blockIdx.x, 1);
}

KERNEL reader_stays(int *flag, int *out, int n) {
    if (!first()) return;
    if (blockIdx.x > 0) {
        atomicAdd(flag, 1);
        atomicAdd(flag + 1, 1);
        if (blockIdx.x != 2) atomicSub(flag, 1);
        return;
    }
    while (atomicAdd(flag + 1, 0) < gridDim.x - 1);
    while (atomicCAS(flag, 0, -1) != 0); // waits: reader_stays
    out[0] = 1;
}

KERNEL counts_its_looks(int *flag, int *out, int n) {
    if (!first()) return;
    int spins = 0;
    while (atomicAdd(flag + 6, 0) != gridDim.x) spins++; // waits: counts_its_looks
    out[blockIdx.x] = spins;
}
